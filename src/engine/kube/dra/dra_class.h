/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_DRA_DRA_CLASS_H
#define ENGINE_KUBE_DRA_DRA_CLASS_H

/* dra_class - the DeviceClass by which given devices can be requested */

#include "engine/kube/dra/dra_claims.h"
#include "engine/kube/dra/dra_device.h"

/* The name of a class that selects all of these devices, of which there is at least one: that with
 * the name of the driver, else the first by name. NULL: none does. */
const char *dra_class_of(const struct dra_claims *claims, struct dra_device *const *devices,
                         uint32_t count);

#endif
