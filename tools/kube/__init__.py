# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes cluster on one machine, for tests, benchmarks and trying; see cluster.py."""
