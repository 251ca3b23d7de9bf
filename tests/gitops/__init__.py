"""What GitOps tools make of our objects: Argo CD's health and actions, kstatus as Flux and Helm read it."""
