/*
 * The version, for --version, /healthz and the log.
 */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define COOPD_VERSION "0.1.0"

#endif
