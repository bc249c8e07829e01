//! Duplicate owner references.

use serde_json::Value;

use crate::meta;

/// Drops owners that equal an earlier one, and returns the API server's warning.
pub fn drop_duplicate_owners(object: &mut Value) -> Option<String> {
    let owners = object.get_mut("metadata")?.get_mut("ownerReferences")?.as_array_mut()?;
    let mut kept: Vec<Value> = Vec::with_capacity(owners.len());
    let mut dropped: Vec<String> = Vec::new();
    for owner in owners.drain(..) {
        if kept.contains(&owner) {
            let uid = meta::text(&owner, "uid").to_owned();
            if !dropped.contains(&uid) {
                dropped.push(uid);
            }
        } else {
            kept.push(owner);
        }
    }
    *owners = kept;
    (!dropped.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, \
             and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            dropped.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_owner_is_kept_once() {
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"});
        let mut object = json!({"metadata": {"ownerReferences": [owner, owner]}});
        let warning = drop_duplicate_owners(&mut object);
        assert!(warning.is_some_and(|warning| warning.ends_with("observed: u")));
        assert_eq!(object["metadata"]["ownerReferences"], json!([owner]));
        assert_eq!(drop_duplicate_owners(&mut object), None);
    }
}
