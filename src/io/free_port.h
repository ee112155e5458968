/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_FREE_PORT_H
#define IO_FREE_PORT_H

#include <stdint.h>

/* A port of this machine that is free now, for the rendezvous of a gang. */
uint16_t free_port_find(void);

#endif
