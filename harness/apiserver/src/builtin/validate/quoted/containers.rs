//! Containers of all sorts.

use super::Member;
use super::Sort::{Flag, List, Number, Object, OrNull, Structure, Text};
use super::volumes::{OBJECT_FIELD_SELECTOR, RESOURCE_FIELD_SELECTOR};

const CONTAINER_PORT: &[Member] = &[
    ("Name", "name", Text),
    ("HostPort", "hostPort", Number),
    ("ContainerPort", "containerPort", Number),
    ("Protocol", "protocol", Text),
    ("HostIP", "hostIP", Text),
];

const ENV_REFERENCE: &[Member] = &[("Name", "name", Text), ("Optional", "optional", OrNull)];

const ENV_FROM_SOURCE: &[Member] = &[
    ("Prefix", "prefix", Text),
    ("ConfigMapRef", "configMapRef", Object(ENV_REFERENCE)),
    ("SecretRef", "secretRef", Object(ENV_REFERENCE)),
];

const KEY_SELECTOR: &[Member] = &[
    ("Name", "name", Text),
    ("Key", "key", Text),
    ("Optional", "optional", OrNull),
];

const FILE_KEY_SELECTOR: &[Member] = &[
    ("VolumeName", "volumeName", Text),
    ("Path", "path", Text),
    ("Key", "key", Text),
    ("Optional", "optional", OrNull),
];

const ENV_VAR_SOURCE: &[Member] = &[
    ("FieldRef", "fieldRef", Object(OBJECT_FIELD_SELECTOR)),
    ("ResourceFieldRef", "resourceFieldRef", Object(RESOURCE_FIELD_SELECTOR)),
    ("ConfigMapKeyRef", "configMapKeyRef", Object(KEY_SELECTOR)),
    ("SecretKeyRef", "secretKeyRef", Object(KEY_SELECTOR)),
    ("FileKeyRef", "fileKeyRef", Object(FILE_KEY_SELECTOR)),
];

const ENV_VAR: &[Member] = &[
    ("Name", "name", Text),
    ("Value", "value", Text),
    ("ValueFrom", "valueFrom", Object(ENV_VAR_SOURCE)),
];

const RESOURCE_CLAIM: &[Member] = &[("Name", "name", Text), ("Request", "request", Text)];

pub(super) const RESOURCE_REQUIREMENTS: &[Member] = &[
    ("Limits", "limits", OrNull),
    ("Requests", "requests", OrNull),
    ("Claims", "claims", List(RESOURCE_CLAIM)),
];

const CONTAINER_RESIZE_POLICY: &[Member] = &[
    ("ResourceName", "resourceName", Text),
    ("RestartPolicy", "restartPolicy", Text),
];

const CONTAINER_RESTART_RULE_ON_EXIT_CODES: &[Member] = &[("Operator", "operator", Text), ("Values", "values", OrNull)];

const CONTAINER_RESTART_RULE: &[Member] = &[
    ("Action", "action", Text),
    ("ExitCodes", "exitCodes", Object(CONTAINER_RESTART_RULE_ON_EXIT_CODES)),
];

const VOLUME_MOUNT: &[Member] = &[
    ("Name", "name", Text),
    ("ReadOnly", "readOnly", Flag),
    ("RecursiveReadOnly", "recursiveReadOnly", OrNull),
    ("MountPath", "mountPath", Text),
    ("SubPath", "subPath", Text),
    ("MountPropagation", "mountPropagation", OrNull),
    ("SubPathExpr", "subPathExpr", Text),
];

const VOLUME_DEVICE: &[Member] = &[("Name", "name", Text), ("DevicePath", "devicePath", Text)];

const EXEC_ACTION: &[Member] = &[("Command", "command", OrNull)];

pub(super) const HTTP_HEADER: &[Member] = &[("Name", "name", Text), ("Value", "value", Text)];

const HTTP_GET_ACTION: &[Member] = &[
    ("Path", "path", Text),
    ("Port", "port", OrNull),
    ("Host", "host", Text),
    ("Scheme", "scheme", Text),
    ("HTTPHeaders", "httpHeaders", List(HTTP_HEADER)),
];

const TCP_SOCKET_ACTION: &[Member] = &[("Port", "port", OrNull), ("Host", "host", Text)];

const GRPC_ACTION: &[Member] = &[("Port", "port", Number), ("Service", "service", OrNull)];

const PROBE: &[Member] = &[
    ("Exec", "exec", Object(EXEC_ACTION)),
    ("HTTPGet", "httpGet", Object(HTTP_GET_ACTION)),
    ("TCPSocket", "tcpSocket", Object(TCP_SOCKET_ACTION)),
    ("GRPC", "grpc", Object(GRPC_ACTION)),
    ("InitialDelaySeconds", "initialDelaySeconds", Number),
    ("TimeoutSeconds", "timeoutSeconds", Number),
    ("PeriodSeconds", "periodSeconds", Number),
    ("SuccessThreshold", "successThreshold", Number),
    ("FailureThreshold", "failureThreshold", Number),
    ("TerminationGracePeriodSeconds", "terminationGracePeriodSeconds", OrNull),
];

const SLEEP_ACTION: &[Member] = &[("Seconds", "seconds", Number)];

const LIFECYCLE_HANDLER: &[Member] = &[
    ("Exec", "exec", Object(EXEC_ACTION)),
    ("HTTPGet", "httpGet", Object(HTTP_GET_ACTION)),
    ("TCPSocket", "tcpSocket", Object(TCP_SOCKET_ACTION)),
    ("Sleep", "sleep", Object(SLEEP_ACTION)),
];

const LIFECYCLE: &[Member] = &[
    ("PostStart", "postStart", Object(LIFECYCLE_HANDLER)),
    ("PreStop", "preStop", Object(LIFECYCLE_HANDLER)),
    ("StopSignal", "stopSignal", OrNull),
];

const CAPABILITIES: &[Member] = &[("Add", "add", OrNull), ("Drop", "drop", OrNull)];

pub(super) const SE_LINUX_OPTIONS: &[Member] = &[
    ("User", "user", Text),
    ("Role", "role", Text),
    ("Type", "type", Text),
    ("Level", "level", Text),
];

pub(super) const WINDOWS_OPTIONS: &[Member] = &[
    ("GMSACredentialSpecName", "gmsaCredentialSpecName", OrNull),
    ("GMSACredentialSpec", "gmsaCredentialSpec", OrNull),
    ("RunAsUserName", "runAsUserName", OrNull),
    ("HostProcess", "hostProcess", OrNull),
];

pub(in super::super) const PROFILE: &[Member] =
    &[("Type", "type", Text), ("LocalhostProfile", "localhostProfile", OrNull)];

pub(in super::super) const SECURITY_CONTEXT: &[Member] = &[
    ("Capabilities", "capabilities", Object(CAPABILITIES)),
    ("Privileged", "privileged", OrNull),
    ("SELinuxOptions", "seLinuxOptions", Object(SE_LINUX_OPTIONS)),
    ("WindowsOptions", "windowsOptions", Object(WINDOWS_OPTIONS)),
    ("RunAsUser", "runAsUser", OrNull),
    ("RunAsGroup", "runAsGroup", OrNull),
    ("RunAsNonRoot", "runAsNonRoot", OrNull),
    ("ReadOnlyRootFilesystem", "readOnlyRootFilesystem", OrNull),
    ("AllowPrivilegeEscalation", "allowPrivilegeEscalation", OrNull),
    ("ProcMount", "procMount", OrNull),
    ("SeccompProfile", "seccompProfile", Object(PROFILE)),
    ("AppArmorProfile", "appArmorProfile", Object(PROFILE)),
];

pub(super) const CONTAINER: &[Member] = &[
    ("Name", "name", Text),
    ("Image", "image", Text),
    ("Command", "command", OrNull),
    ("Args", "args", OrNull),
    ("WorkingDir", "workingDir", Text),
    ("Ports", "ports", List(CONTAINER_PORT)),
    ("EnvFrom", "envFrom", List(ENV_FROM_SOURCE)),
    ("Env", "env", List(ENV_VAR)),
    ("Resources", "resources", Structure(RESOURCE_REQUIREMENTS)),
    ("ResizePolicy", "resizePolicy", List(CONTAINER_RESIZE_POLICY)),
    ("RestartPolicy", "restartPolicy", OrNull),
    ("RestartPolicyRules", "restartPolicyRules", List(CONTAINER_RESTART_RULE)),
    ("VolumeMounts", "volumeMounts", List(VOLUME_MOUNT)),
    ("VolumeDevices", "volumeDevices", List(VOLUME_DEVICE)),
    ("LivenessProbe", "livenessProbe", Object(PROBE)),
    ("ReadinessProbe", "readinessProbe", Object(PROBE)),
    ("StartupProbe", "startupProbe", Object(PROBE)),
    ("Lifecycle", "lifecycle", Object(LIFECYCLE)),
    ("TerminationMessagePath", "terminationMessagePath", Text),
    ("TerminationMessagePolicy", "terminationMessagePolicy", Text),
    ("ImagePullPolicy", "imagePullPolicy", Text),
    ("SecurityContext", "securityContext", Object(SECURITY_CONTEXT)),
    ("Stdin", "stdin", Flag),
    ("StdinOnce", "stdinOnce", Flag),
    ("TTY", "tty", Flag),
];

pub(super) const EPHEMERAL_CONTAINER: &[Member] = &[
    ("Name", "name", Text),
    ("Image", "image", Text),
    ("Command", "command", OrNull),
    ("Args", "args", OrNull),
    ("WorkingDir", "workingDir", Text),
    ("Ports", "ports", List(CONTAINER_PORT)),
    ("EnvFrom", "envFrom", List(ENV_FROM_SOURCE)),
    ("Env", "env", List(ENV_VAR)),
    ("Resources", "resources", Structure(RESOURCE_REQUIREMENTS)),
    ("ResizePolicy", "resizePolicy", List(CONTAINER_RESIZE_POLICY)),
    ("RestartPolicy", "restartPolicy", OrNull),
    ("RestartPolicyRules", "restartPolicyRules", List(CONTAINER_RESTART_RULE)),
    ("VolumeMounts", "volumeMounts", List(VOLUME_MOUNT)),
    ("VolumeDevices", "volumeDevices", List(VOLUME_DEVICE)),
    ("LivenessProbe", "livenessProbe", Object(PROBE)),
    ("ReadinessProbe", "readinessProbe", Object(PROBE)),
    ("StartupProbe", "startupProbe", Object(PROBE)),
    ("Lifecycle", "lifecycle", Object(LIFECYCLE)),
    ("TerminationMessagePath", "terminationMessagePath", Text),
    ("TerminationMessagePolicy", "terminationMessagePolicy", Text),
    ("ImagePullPolicy", "imagePullPolicy", Text),
    ("SecurityContext", "securityContext", Object(SECURITY_CONTEXT)),
    ("Stdin", "stdin", Flag),
    ("StdinOnce", "stdinOnce", Flag),
    ("TTY", "tty", Flag),
    ("TargetContainerName", "targetContainerName", Text),
];
