"""The Kubernetes client for Python against a server: argument 1 is a kubeconfig. Prints `ok` when all went well."""

import sys
import threading

from kubernetes import client, config, watch

config.load_kube_config(sys.argv[1])
core = client.CoreV1Api()
apps = client.AppsV1Api()

core.create_namespace({"metadata": {"name": "python"}})
seen = []


def follow(version):
    for event in watch.Watch().stream(
        core.list_namespaced_config_map, "python", resource_version=version, timeout_seconds=20
    ):
        seen.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            return


start = core.list_namespaced_config_map("python").metadata.resource_version
follower = threading.Thread(target=follow, args=(start,))
follower.start()
core.create_namespaced_config_map("python", {"metadata": {"name": "a"}, "data": {"k": "v"}})
patched = core.patch_namespaced_config_map("a", "python", {"data": {"k": "w"}})
assert patched.data == {"k": "w"}, patched.data
assert [item.metadata.name for item in core.list_namespaced_config_map("python").items] == ["a"]
core.delete_namespaced_config_map("a", "python")
follower.join(timeout=20)
assert seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")], seen

deployment = {
    "metadata": {"name": "web"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}
created = apps.create_namespaced_deployment("python", deployment)
assert created.spec.replicas == 1
apps.patch_namespaced_deployment_scale("web", "python", {"spec": {"replicas": 3}})
assert apps.read_namespaced_deployment("web", "python").spec.replicas == 3
try:
    core.create_namespaced_config_map("python", {"metadata": {"name": "Bad_Name"}})
    raise SystemExit("a bad name was accepted")
except client.ApiException as error:
    assert error.status == 422, error
print("ok")
