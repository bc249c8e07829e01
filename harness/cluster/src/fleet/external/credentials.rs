//! Credentials of the target for members that it reaches directly.

use k8s_openapi::{
    api::{
        authentication::v1::{TokenRequest, TokenRequestSpec},
        core::v1::ServiceAccount,
        rbac::v1::{ClusterRoleBinding, RoleRef, Subject},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{Api, Client, api::PostParams};

use super::{Access, refused};
use crate::fleet::FleetError;

/// Service account of the target on members whose kubeconfig has no token.
const ACCOUNT: &str = "baton-target";

/// Lifetime of its token: longer than any case takes.
const TOKEN_SECS: i64 = 24 * 60 * 60;

/// Returns the kubeconfig's token, or else a new token of a service account.
pub(super) async fn token(access: &Access, client: &Client, namespace: &str) -> Result<String, FleetError> {
    if let Some(token) = access.token() {
        return Ok(token);
    }
    let failed = |what: &'static str| refused(access.name(), what);
    let metadata = |name: &str| ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    };
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let account = ServiceAccount {
        metadata: metadata(ACCOUNT),
        ..ServiceAccount::default()
    };
    let created = accounts.create(&PostParams::default(), &account).await;
    created.map_err(failed("creating an account for the target"))?;
    let binding = ClusterRoleBinding {
        metadata: metadata(namespace),
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".to_owned()),
            kind: "ClusterRole".to_owned(),
            name: "cluster-admin".to_owned(),
        },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".to_owned(),
            name: ACCOUNT.to_owned(),
            namespace: Some(namespace.to_owned()),
            ..Subject::default()
        }]),
    };
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    let created = bindings.create(&PostParams::default(), &binding).await;
    created.map_err(failed("giving rights to the target"))?;
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(TOKEN_SECS),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let given = accounts
        .create_token_request(ACCOUNT, &PostParams::default(), &request)
        .await;
    let given = given.map_err(failed("asking for a token for the target"))?;
    given
        .status
        .and_then(|status| status.token)
        .filter(|token| !token.is_empty())
        .ok_or_else(|| FleetError::NoToken(access.name().clone()))
}
