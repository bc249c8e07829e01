// Prints facts about the API from Kubernetes' own sources, one entry per line, `NAME: ITEM, ITEM, …`, in the form that
// `machinery/src/generated.rs` reads:
//
//   - `versioned`: the types that clients see, with the facts about their fields in the API's documentation;
//   - `internal`: the types that the API server validates and so quotes in its errors;
//   - `resources DIR`: the resources that discovery lists, from the folder `api/discovery` of Kubernetes;
//   - `headings`: the columns of tables.
//
// `generate.sh` runs it.
package main

import (
	"fmt"
	"os"
)

func main() {
	what := map[string]func(){
		"versioned": versioned,
		"internal":  internal,
		"resources": resources,
		"headings":  headings,
	}
	if len(os.Args) < 2 || what[os.Args[1]] == nil {
		fail("say what to print: versioned, internal, resources DIR or headings")
	}
	what[os.Args[1]]()
}

func fail(why any) {
	fmt.Fprintln(os.Stderr, "error:", why)
	os.Exit(1)
}
