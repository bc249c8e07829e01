//! Volumes and their sources.

use super::Member;
use super::Sort::{Flag, List, Metadata, Number, Object, OrNull, Selector, Structure, Text};

const HOST_PATH_SOURCE: &[Member] = &[("Path", "path", Text), ("Type", "type", OrNull)];

const EMPTY_DIR_SOURCE: &[Member] = &[("Medium", "medium", Text), ("SizeLimit", "sizeLimit", OrNull)];

const GCE_PERSISTENT_DISK_SOURCE: &[Member] = &[
    ("PDName", "pdName", Text),
    ("FSType", "fsType", Text),
    ("Partition", "partition", Number),
    ("ReadOnly", "readOnly", Flag),
];

const AWS_ELASTIC_BLOCK_STORE_SOURCE: &[Member] = &[
    ("VolumeID", "volumeID", Text),
    ("FSType", "fsType", Text),
    ("Partition", "partition", Number),
    ("ReadOnly", "readOnly", Flag),
];

const GIT_REPO_SOURCE: &[Member] = &[
    ("Repository", "repository", Text),
    ("Revision", "revision", Text),
    ("Directory", "directory", Text),
];

const KEY_TO_PATH: &[Member] = &[("Key", "key", Text), ("Path", "path", Text), ("Mode", "mode", OrNull)];

const SECRET_SOURCE: &[Member] = &[
    ("SecretName", "secretName", Text),
    ("Items", "items", List(KEY_TO_PATH)),
    ("DefaultMode", "defaultMode", OrNull),
    ("Optional", "optional", OrNull),
];

const NFS_SOURCE: &[Member] = &[
    ("Server", "server", Text),
    ("Path", "path", Text),
    ("ReadOnly", "readOnly", Flag),
];

pub(super) const LOCAL_OBJECT_REFERENCE: &[Member] = &[("Name", "name", Text)];

const ISCSI_SOURCE: &[Member] = &[
    ("TargetPortal", "targetPortal", Text),
    ("IQN", "iqn", Text),
    ("Lun", "lun", Number),
    ("ISCSIInterface", "iscsiInterface", Text),
    ("FSType", "fsType", Text),
    ("ReadOnly", "readOnly", Flag),
    ("Portals", "portals", OrNull),
    ("DiscoveryCHAPAuth", "chapAuthDiscovery", Flag),
    ("SessionCHAPAuth", "chapAuthSession", Flag),
    ("SecretRef", "secretRef", Object(LOCAL_OBJECT_REFERENCE)),
    ("InitiatorName", "initiatorName", OrNull),
];

const GLUSTERFS_SOURCE: &[Member] = &[
    ("EndpointsName", "endpoints", Text),
    ("Path", "path", Text),
    ("ReadOnly", "readOnly", Flag),
];

const PERSISTENT_VOLUME_CLAIM_SOURCE: &[Member] = &[("ClaimName", "claimName", Text), ("ReadOnly", "readOnly", Flag)];

const RBD_SOURCE: &[Member] = &[
    ("CephMonitors", "monitors", OrNull),
    ("RBDImage", "image", Text),
    ("FSType", "fsType", Text),
    ("RBDPool", "pool", Text),
    ("RadosUser", "user", Text),
    ("Keyring", "keyring", Text),
    ("SecretRef", "secretRef", Object(LOCAL_OBJECT_REFERENCE)),
    ("ReadOnly", "readOnly", Flag),
];

const QUOBYTE_SOURCE: &[Member] = &[
    ("Registry", "registry", Text),
    ("Volume", "volume", Text),
    ("ReadOnly", "readOnly", Flag),
    ("User", "user", Text),
    ("Group", "group", Text),
    ("Tenant", "tenant", Text),
];

const FLEX_SOURCE: &[Member] = &[
    ("Driver", "driver", Text),
    ("FSType", "fsType", Text),
    ("SecretRef", "secretRef", Object(LOCAL_OBJECT_REFERENCE)),
    ("ReadOnly", "readOnly", Flag),
    ("Options", "options", OrNull),
];

const CINDER_SOURCE: &[Member] = &[
    ("VolumeID", "volumeID", Text),
    ("FSType", "fsType", Text),
    ("ReadOnly", "readOnly", Flag),
    ("SecretRef", "secretRef", Object(LOCAL_OBJECT_REFERENCE)),
];

const CEPH_FS_SOURCE: &[Member] = &[
    ("Monitors", "monitors", OrNull),
    ("Path", "path", Text),
    ("User", "user", Text),
    ("SecretFile", "secretFile", Text),
    ("SecretRef", "secretRef", Object(LOCAL_OBJECT_REFERENCE)),
    ("ReadOnly", "readOnly", Flag),
];

const FLOCKER_SOURCE: &[Member] = &[
    ("DatasetName", "datasetName", Text),
    ("DatasetUUID", "datasetUUID", Text),
];

pub(super) const OBJECT_FIELD_SELECTOR: &[Member] =
    &[("APIVersion", "apiVersion", Text), ("FieldPath", "fieldPath", Text)];

pub(super) const RESOURCE_FIELD_SELECTOR: &[Member] = &[
    ("ContainerName", "containerName", Text),
    ("Resource", "resource", Text),
    ("Divisor", "divisor", OrNull),
];

const DOWNWARD_API_VOLUME_FILE: &[Member] = &[
    ("Path", "path", Text),
    ("FieldRef", "fieldRef", Object(OBJECT_FIELD_SELECTOR)),
    ("ResourceFieldRef", "resourceFieldRef", Object(RESOURCE_FIELD_SELECTOR)),
    ("Mode", "mode", OrNull),
];

const DOWNWARD_API_SOURCE: &[Member] = &[
    ("Items", "items", List(DOWNWARD_API_VOLUME_FILE)),
    ("DefaultMode", "defaultMode", OrNull),
];

const FC_SOURCE: &[Member] = &[
    ("TargetWWNs", "targetWWNs", OrNull),
    ("Lun", "lun", OrNull),
    ("FSType", "fsType", Text),
    ("ReadOnly", "readOnly", Flag),
    ("WWIDs", "wwids", OrNull),
];

const AZURE_FILE_SOURCE: &[Member] = &[
    ("SecretName", "secretName", Text),
    ("ShareName", "shareName", Text),
    ("ReadOnly", "readOnly", Flag),
];

const CONFIG_MAP_SOURCE: &[Member] = &[
    ("Name", "name", Text),
    ("Items", "items", List(KEY_TO_PATH)),
    ("DefaultMode", "defaultMode", OrNull),
    ("Optional", "optional", OrNull),
];

const VSPHERE_VIRTUAL_DISK_SOURCE: &[Member] = &[
    ("VolumePath", "volumePath", Text),
    ("FSType", "fsType", Text),
    ("StoragePolicyName", "storagePolicyName", Text),
    ("StoragePolicyID", "storagePolicyID", Text),
];

const AZURE_DISK_SOURCE: &[Member] = &[
    ("DiskName", "diskName", Text),
    ("DataDiskURI", "diskURI", Text),
    ("CachingMode", "cachingMode", OrNull),
    ("FSType", "fsType", OrNull),
    ("ReadOnly", "readOnly", OrNull),
    ("Kind", "kind", OrNull),
];

const PHOTON_PERSISTENT_DISK_SOURCE: &[Member] = &[("PdID", "pdID", Text), ("FSType", "fsType", Text)];

const PROJECTION: &[Member] = &[
    ("Name", "name", Text),
    ("Items", "items", List(KEY_TO_PATH)),
    ("Optional", "optional", OrNull),
];

const DOWNWARD_API_PROJECTION: &[Member] = &[("Items", "items", List(DOWNWARD_API_VOLUME_FILE))];

const SERVICE_ACCOUNT_TOKEN_PROJECTION: &[Member] = &[
    ("Audience", "audience", Text),
    ("ExpirationSeconds", "expirationSeconds", Number),
    ("Path", "path", Text),
];

const CLUSTER_TRUST_BUNDLE_PROJECTION: &[Member] = &[
    ("Name", "name", OrNull),
    ("SignerName", "signerName", OrNull),
    ("LabelSelector", "labelSelector", Selector),
    ("Optional", "optional", OrNull),
    ("Path", "path", Text),
];

const POD_CERTIFICATE_PROJECTION: &[Member] = &[
    ("SignerName", "signerName", Text),
    ("KeyType", "keyType", Text),
    ("MaxExpirationSeconds", "maxExpirationSeconds", OrNull),
    ("CredentialBundlePath", "credentialBundlePath", Text),
    ("KeyPath", "keyPath", Text),
    ("CertificateChainPath", "certificateChainPath", Text),
    ("UserAnnotations", "userAnnotations", OrNull),
];

const VOLUME_PROJECTION: &[Member] = &[
    ("Secret", "secret", Object(PROJECTION)),
    ("DownwardAPI", "downwardAPI", Object(DOWNWARD_API_PROJECTION)),
    ("ConfigMap", "configMap", Object(PROJECTION)),
    (
        "ServiceAccountToken",
        "serviceAccountToken",
        Object(SERVICE_ACCOUNT_TOKEN_PROJECTION),
    ),
    (
        "ClusterTrustBundle",
        "clusterTrustBundle",
        Object(CLUSTER_TRUST_BUNDLE_PROJECTION),
    ),
    ("PodCertificate", "podCertificate", Object(POD_CERTIFICATE_PROJECTION)),
];

const PROJECTED_SOURCE: &[Member] = &[
    ("Sources", "sources", List(VOLUME_PROJECTION)),
    ("DefaultMode", "defaultMode", OrNull),
];

const PORTWORX_SOURCE: &[Member] = &[
    ("VolumeID", "volumeID", Text),
    ("FSType", "fsType", Text),
    ("ReadOnly", "readOnly", Flag),
];

const SCALE_IO_SOURCE: &[Member] = &[
    ("Gateway", "gateway", Text),
    ("System", "system", Text),
    ("SecretRef", "secretRef", Object(LOCAL_OBJECT_REFERENCE)),
    ("SSLEnabled", "sslEnabled", Flag),
    ("ProtectionDomain", "protectionDomain", Text),
    ("StoragePool", "storagePool", Text),
    ("StorageMode", "storageMode", Text),
    ("VolumeName", "volumeName", Text),
    ("FSType", "fsType", Text),
    ("ReadOnly", "readOnly", Flag),
];

const STORAGE_OS_SOURCE: &[Member] = &[
    ("VolumeName", "volumeName", Text),
    ("VolumeNamespace", "volumeNamespace", Text),
    ("FSType", "fsType", Text),
    ("ReadOnly", "readOnly", Flag),
    ("SecretRef", "secretRef", Object(LOCAL_OBJECT_REFERENCE)),
];

const CSI_SOURCE: &[Member] = &[
    ("Driver", "driver", Text),
    ("ReadOnly", "readOnly", OrNull),
    ("FSType", "fsType", OrNull),
    ("VolumeAttributes", "volumeAttributes", OrNull),
    (
        "NodePublishSecretRef",
        "nodePublishSecretRef",
        Object(LOCAL_OBJECT_REFERENCE),
    ),
];

const VOLUME_RESOURCE_REQUIREMENTS: &[Member] = &[("Limits", "limits", OrNull), ("Requests", "requests", OrNull)];

const TYPED_LOCAL_OBJECT_REFERENCE: &[Member] = &[
    ("APIGroup", "apiGroup", OrNull),
    ("Kind", "kind", Text),
    ("Name", "name", Text),
];

const TYPED_OBJECT_REFERENCE: &[Member] = &[
    ("APIGroup", "apiGroup", OrNull),
    ("Kind", "kind", Text),
    ("Name", "name", Text),
    ("Namespace", "namespace", OrNull),
];

const PERSISTENT_VOLUME_CLAIM_SPEC: &[Member] = &[
    ("AccessModes", "accessModes", OrNull),
    ("Selector", "selector", Selector),
    ("Resources", "resources", Structure(VOLUME_RESOURCE_REQUIREMENTS)),
    ("VolumeName", "volumeName", Text),
    ("StorageClassName", "storageClassName", OrNull),
    ("VolumeMode", "volumeMode", OrNull),
    ("DataSource", "dataSource", Object(TYPED_LOCAL_OBJECT_REFERENCE)),
    ("DataSourceRef", "dataSourceRef", Object(TYPED_OBJECT_REFERENCE)),
    ("VolumeAttributesClassName", "volumeAttributesClassName", OrNull),
];

const PERSISTENT_VOLUME_CLAIM_TEMPLATE: &[Member] = &[
    ("", "metadata", Metadata),
    ("Spec", "spec", Structure(PERSISTENT_VOLUME_CLAIM_SPEC)),
];

const EPHEMERAL_SOURCE: &[Member] = &[(
    "VolumeClaimTemplate",
    "volumeClaimTemplate",
    Object(PERSISTENT_VOLUME_CLAIM_TEMPLATE),
)];

const IMAGE_SOURCE: &[Member] = &[("Reference", "reference", Text), ("PullPolicy", "pullPolicy", Text)];

pub(super) const VOLUME: &[Member] = &[
    ("Name", "name", Text),
    ("HostPath", "hostPath", Object(HOST_PATH_SOURCE)),
    ("EmptyDir", "emptyDir", Object(EMPTY_DIR_SOURCE)),
    (
        "GCEPersistentDisk",
        "gcePersistentDisk",
        Object(GCE_PERSISTENT_DISK_SOURCE),
    ),
    (
        "AWSElasticBlockStore",
        "awsElasticBlockStore",
        Object(AWS_ELASTIC_BLOCK_STORE_SOURCE),
    ),
    ("GitRepo", "gitRepo", Object(GIT_REPO_SOURCE)),
    ("Secret", "secret", Object(SECRET_SOURCE)),
    ("NFS", "nfs", Object(NFS_SOURCE)),
    ("ISCSI", "iscsi", Object(ISCSI_SOURCE)),
    ("Glusterfs", "glusterfs", Object(GLUSTERFS_SOURCE)),
    (
        "PersistentVolumeClaim",
        "persistentVolumeClaim",
        Object(PERSISTENT_VOLUME_CLAIM_SOURCE),
    ),
    ("RBD", "rbd", Object(RBD_SOURCE)),
    ("Quobyte", "quobyte", Object(QUOBYTE_SOURCE)),
    ("FlexVolume", "flexVolume", Object(FLEX_SOURCE)),
    ("Cinder", "cinder", Object(CINDER_SOURCE)),
    ("CephFS", "cephfs", Object(CEPH_FS_SOURCE)),
    ("Flocker", "flocker", Object(FLOCKER_SOURCE)),
    ("DownwardAPI", "downwardAPI", Object(DOWNWARD_API_SOURCE)),
    ("FC", "fc", Object(FC_SOURCE)),
    ("AzureFile", "azureFile", Object(AZURE_FILE_SOURCE)),
    ("ConfigMap", "configMap", Object(CONFIG_MAP_SOURCE)),
    ("VsphereVolume", "vsphereVolume", Object(VSPHERE_VIRTUAL_DISK_SOURCE)),
    ("AzureDisk", "azureDisk", Object(AZURE_DISK_SOURCE)),
    (
        "PhotonPersistentDisk",
        "photonPersistentDisk",
        Object(PHOTON_PERSISTENT_DISK_SOURCE),
    ),
    ("Projected", "projected", Object(PROJECTED_SOURCE)),
    ("PortworxVolume", "portworxVolume", Object(PORTWORX_SOURCE)),
    ("ScaleIO", "scaleIO", Object(SCALE_IO_SOURCE)),
    ("StorageOS", "storageos", Object(STORAGE_OS_SOURCE)),
    ("CSI", "csi", Object(CSI_SOURCE)),
    ("Ephemeral", "ephemeral", Object(EPHEMERAL_SOURCE)),
    ("Image", "image", Object(IMAGE_SOURCE)),
];
