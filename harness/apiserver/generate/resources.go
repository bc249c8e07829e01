package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// `apps/v1 deployments: Deployment deployment namespaced short=deploy category=all create|delete|…, scale
// autoscaling/v1/Scale get|patch|update, …`, in the order of discovery. A subresource with the kind of its
// resource has `-` in the place of a kind.
func resources() {
	if len(os.Args) < 3 {
		fail("say where Kubernetes' folder api/discovery is")
	}
	folder := os.Args[2]
	printResources(folder, "api__v1.json")
	var groups metav1.APIGroupList
	read(folder, "apis.json", &groups)
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			if version.Version == "v1" || version.GroupVersion == "autoscaling/v2" {
				printResources(folder, "apis__"+strings.ReplaceAll(version.GroupVersion, "/", "__")+".json")
			}
		}
	}
}

func printResources(folder, file string) {
	var list metav1.APIResourceList
	read(folder, file, &list)
	line := ""
	for _, each := range list.APIResources {
		verbs := strings.Join(each.Verbs, "|")
		parent, sub, isSub := strings.Cut(each.Name, "/")
		if isSub {
			speaks := "-"
			if own := kindOf(list, parent); each.Kind != own || each.Version != "" {
				speaks = strings.TrimPrefix(fmt.Sprintf("%s/%s", each.Group, each.Version), "/") + "/" + each.Kind
			}
			line += fmt.Sprintf(", %s %s %s", sub, speaks, verbs)
			continue
		}
		if line != "" {
			fmt.Println(line)
		}
		line = fmt.Sprintf("%s %s: %s %s", list.GroupVersion, each.Name, each.Kind, each.SingularName)
		if each.Namespaced {
			line += " namespaced"
		}
		for _, short := range each.ShortNames {
			line += " short=" + short
		}
		for _, category := range each.Categories {
			line += " category=" + category
		}
		line += " " + verbs
	}
	fmt.Println(line)
}

func kindOf(list metav1.APIResourceList, plural string) string {
	for _, each := range list.APIResources {
		if each.Name == plural {
			return each.Kind
		}
	}
	return ""
}

func read(folder, file string, into any) {
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		fail(err)
	}
}
