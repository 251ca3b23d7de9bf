module moonshift.dev/localcluster/node/images

go 1.25.0
