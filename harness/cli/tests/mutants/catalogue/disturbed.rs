//! Defects by which one refused request, or one cluster that is not well, harms everything else.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{
    fault::{Carried, Fault, Of},
    mutant::Mutant,
    pieces::Memory,
};

pub fn mutants() -> Vec<Mutant> {
    vec![Mutant {
        name: "refused-work-stops-the-others",
        breaks: "POL-17",
        defect: "after a Work that was refused, the Works for other clusters are not written",
        fault: |_| refused_work_stops_the_others(),
    }]
}

/// Works are refused once one of them was.
fn refused_work_stops_the_others() -> Fault {
    let refused: Memory<bool> = Memory::new();
    let seen = refused.clone();
    Fault::none()
        .before(Of::Works, move |call, _| {
            let stops = call.method == Method::POST && *seen.get();
            Box::pin(std::future::ready(if stops {
                Carried::Instead(StatusCode::INTERNAL_SERVER_ERROR, failure(500))
            } else {
                Carried::On
            }))
        })
        .after(Of::Works, move |_, answer, _| {
            *refused.get() |= answer["code"] == 422;
            Box::pin(std::future::ready(()))
        })
}

/// Answer of a server that cannot carry out a request.
fn failure(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "InternalError", "message": "not now", "code": code})
}
