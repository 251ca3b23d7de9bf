package main

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// newEtcdCommand runs an embedded etcd of one member. It accepts the few flags that test launchers of the Kubernetes
// world pass, so that the binary can stand in for the real program in KUBEBUILDER_ASSETS.
func newEtcdCommand() *cobra.Command {
	var dataDir, clientURL, advertiseURL, peerURL string
	var noSync bool
	command := &cobra.Command{
		Use:          "etcd",
		Short:        "an embedded etcd of one member",
		SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error {
			return serveEtcd(dataDir, clientURL, peerURL, noSync)
		},
	}
	flags := command.Flags()
	flags.StringVar(&dataDir, "data-dir", "default.etcd", "where the data is kept")
	flags.StringVar(&clientURL, "listen-client-urls", "http://127.0.0.1:2379", "the URL clients connect to")
	flags.StringVar(&advertiseURL, "advertise-client-urls", "", "ignored: the listening URL is advertised")
	flags.StringVar(&peerURL, "listen-peer-urls", "http://127.0.0.1:2380", "the URL of the (unused) peer listener")
	flags.BoolVar(&noSync, "unsafe-no-fsync", false, "do not wait for the disk")
	return command
}

func serveEtcd(dataDir, clientURL, peerURL string, noSync bool) error {
	client, err := url.Parse(clientURL)
	if err != nil {
		return fmt.Errorf("--listen-client-urls: %w", err)
	}
	peer, err := url.Parse(peerURL)
	if err != nil {
		return fmt.Errorf("--listen-peer-urls: %w", err)
	}
	config := embed.NewConfig()
	config.Dir = dataDir
	config.ListenClientUrls = []url.URL{*client}
	config.AdvertiseClientUrls = []url.URL{*client}
	config.ListenPeerUrls = []url.URL{*peer}
	config.AdvertisePeerUrls = []url.URL{*peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.UnsafeNoFsync = noSync
	config.QuotaBackendBytes = 2 << 30
	config.LogLevel = "warn"
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	select {
	case <-stop:
		return nil
	case err := <-server.Err():
		return err
	}
}
