// SPDX-License-Identifier: Apache-2.0

// kubebox is a control plane in one program: etcd, kube-apiserver, kube-controller-manager and kube-scheduler
// share most of their code, so that one build and one file serve all four. The first argument says which one runs.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func schedulerCommand() *cobra.Command {
	return scheduler.NewSchedulerCommand()
}

func main() {
	commands := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllers.NewControllerManagerCommand,
		"kube-scheduler":          schedulerCommand,
	}
	if len(os.Args) > 1 {
		os.Args = os.Args[1:]
	}
	if os.Args[0] == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	command, known := commands[os.Args[0]]
	if !known {
		fmt.Fprintln(os.Stderr, "usage: kubebox etcd|kube-apiserver|kube-controller-manager|kube-scheduler OPTION...")
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}
