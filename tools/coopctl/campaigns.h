/* What coopctl campaigns does besides showing them. */
#ifndef COOPCTL_CAMPAIGNS_H
#define COOPCTL_CAMPAIGNS_H

#include "coopctl/ctl.h"

enum ctl_exit campaigns_download(struct ctl *c);
enum ctl_exit campaigns_revoke(struct ctl *c);
enum ctl_exit campaigns_unrevoke(struct ctl *c);
enum ctl_exit campaigns_purge(struct ctl *c);
enum ctl_exit campaigns_transfer(struct ctl *c);
enum ctl_exit campaigns_add_member(struct ctl *c);
enum ctl_exit campaigns_remove_member(struct ctl *c);
enum ctl_exit campaigns_restore(struct ctl *c);

#endif
