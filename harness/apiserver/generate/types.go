package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"

	definitions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	aggregator "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/authorization"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/networking"
	"k8s.io/kubernetes/pkg/apis/policy"
	"k8s.io/kubernetes/pkg/apis/rbac"
	"k8s.io/kubernetes/pkg/apis/storage"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// Types with separate decoders.
var special = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():                             "T",
	reflect.TypeFor[metav1.MicroTime]():                        "M",
	reflect.TypeFor[metav1.FieldsV1]():                         "J",
	reflect.TypeFor[runtime.RawExtension]():                    "J",
	reflect.TypeFor[extensions.JSON]():                         "v1.JSON:J",
	reflect.TypeFor[extensions.JSONSchemaPropsOrArray]():       "|*apiextensions.v1.JSONSchemaProps",
	reflect.TypeFor[extensions.JSONSchemaPropsOrBool]():        "|bapiextensions.v1.JSONSchemaProps",
	reflect.TypeFor[extensions.JSONSchemaPropsOrStringArray](): "|sapiextensions.v1.JSONSchemaProps",
	reflect.TypeFor[resource.Quantity]():                       "Q",
	reflect.TypeFor[intstr.IntOrString]():                      "I",
	reflect.TypeFor[[]byte]():                                  "y",
}

// Types without a group.
var others = []reflect.Type{
	reflect.TypeFor[metav1.DeleteOptions](),
	reflect.TypeFor[metav1.Status](),
	reflect.TypeFor[metav1.ListMeta](),
}

// Types that errors quote; the types of their fields follow.
var quoted = []reflect.Type{
	reflect.TypeFor[definitions.CustomResourceDefinitionVersion](),
	reflect.TypeFor[apps.DaemonSetUpdateStrategy](),
	reflect.TypeFor[apps.DeploymentStrategy](),
	reflect.TypeFor[authorization.NonResourceAttributes](),
	reflect.TypeFor[autoscaling.HorizontalPodAutoscalerBehavior](),
	reflect.TypeFor[batch.JobSpec](),
	reflect.TypeFor[core.EventSeries](),
	reflect.TypeFor[core.EventSource](),
	reflect.TypeFor[core.NodeAddress](),
	reflect.TypeFor[core.ObjectReference](),
	reflect.TypeFor[core.Taint](),
	reflect.TypeFor[core.ResourceQuotaSpec](),
	reflect.TypeFor[apps.StatefulSetSpec](),
	reflect.TypeFor[core.ServiceSpec](),
	reflect.TypeFor[core.PersistentVolumeSpec](),
	reflect.TypeFor[core.PersistentVolumeClaimSpec](),
	reflect.TypeFor[networking.IPAddressSpec](),
	reflect.TypeFor[networking.IngressClassSpec](),
	reflect.TypeFor[networking.ServiceCIDRSpec](),
	reflect.TypeFor[policy.PodDisruptionBudgetSpec](),
	reflect.TypeFor[rbac.RoleRef](),
	reflect.TypeFor[storage.CSINodeSpec](),
	reflect.TypeFor[storage.VolumeAttachmentSpec](),
}

// The items of each line by its name, and the words after the name.
var lines, words = map[string]string{}, map[string]string{}

// The API's documentation, by its names for types.
var documented = openapi.GetOpenAPIDefinitions(func(path string) spec.Ref {
	return spec.MustCreateRef(path)
})

func printLines() {
	names := make([]string, 0, len(lines))
	for name := range lines {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Println(strings.TrimSpace(name + words[name] + ": " + lines[name]))
	}
}

func versioned() {
	for _, add := range []func(*runtime.Scheme) error{aggregator.AddToScheme, extensions.AddToScheme} {
		if err := add(scheme.Scheme); err != nil {
			fail(err)
		}
	}
	served := []schema.GroupVersion{{Group: "autoscaling", Version: "v2"}}
	for _, version := range scheme.Scheme.PrioritizedVersionsAllGroups() {
		if version.Version == "v1" {
			served = append(served, version)
		}
	}
	for _, version := range served {
		for _, kind := range scheme.Scheme.KnownTypes(version) {
			_, isList := kind.FieldByName("ListMeta")
			if !isList && !strings.HasPrefix(kind.PkgPath(), "k8s.io/apimachinery/") {
				describe(kind)
			}
		}
	}
	for _, kind := range others {
		describe(kind)
	}
	printLines()
}

// The package's last two parts and the type's name: `core.v1.Pod`.
func name(of reflect.Type) string {
	parts := strings.Split(of.PkgPath(), "/")
	return strings.Join(append(parts[len(parts)-2:], of.Name()), ".")
}

func definition(of reflect.Type) (common.OpenAPIDefinition, bool) {
	named, ok := reflect.New(of).Interface().(interface{ OpenAPIModelName() string })
	if !ok {
		return common.OpenAPIDefinition{}, false
	}
	found, ok := documented[named.OpenAPIModelName()]
	return found, ok
}

func describe(of reflect.Type) {
	full := name(of)
	if _, known := lines[full]; known {
		return
	}
	lines[full] = ""
	said, _ := definition(of)
	if said.Schema.Extensions["x-kubernetes-map-type"] == "atomic" {
		words[full] = " map=atomic"
	}
	var fields []string
	for i := range of.NumField() {
		if text := field(of.Field(i), said.Schema); text != "" {
			fields = append(fields, text)
		}
	}
	lines[full] = strings.Join(fields, ", ")
}

func field(of reflect.StructField, said spec.Schema) string {
	tag := strings.Split(of.Tag.Get("json"), ",")
	number := "0"
	if proto := strings.Split(of.Tag.Get("protobuf"), ","); len(proto) > 1 {
		number = proto[1]
	}
	kind := of.Type
	marks := ""
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
		marks += "&"
	}
	for _, option := range tag[1:] {
		switch option {
		case "omitempty":
			marks += "?"
		case "omitzero":
			marks += "!"
		}
	}
	label := tag[0]
	switch {
	case label == "-":
		return ""
	case of.Anonymous && label == "":
		label, marks = "-", ""
	}
	return fmt.Sprintf("%s %s %s%s%s", number, label, text(kind), marks, facts(label, said))
}

// The facts about a field in the documentation, each after a space.
func facts(label string, said spec.Schema) string {
	property, found := said.Properties[label]
	if !found {
		return ""
	}
	var out strings.Builder
	add := func(format string, values ...any) { fmt.Fprintf(&out, " "+format, values...) }
	if slices.Contains(said.Required, label) {
		add("required")
	}
	extension := property.Extensions
	if kind, ok := extension["x-kubernetes-list-type"]; ok {
		keys := ""
		if of, ok := extension["x-kubernetes-list-map-keys"].([]any); ok {
			for _, key := range of {
				keys += fmt.Sprintf(":%v", key)
			}
		}
		add("list=%v%s", kind, keys)
	}
	if strategy, ok := extension["x-kubernetes-patch-strategy"]; ok {
		key := ""
		if of, ok := extension["x-kubernetes-patch-merge-key"]; ok {
			key = fmt.Sprintf(":%v", of)
		}
		add("patch=%v%s", strategy, key)
	}
	if kind, ok := extension["x-kubernetes-map-type"]; ok {
		add("map=%v", kind)
	}
	values := property.Enum
	if property.Items != nil && property.Items.Schema != nil {
		values = append(values, property.Items.Schema.Enum...)
	}
	if len(values) > 0 {
		words := make([]string, len(values))
		for i, value := range values {
			words[i] = fmt.Sprint(value)
		}
		add("enum=%s", strings.Join(words, "|"))
	}
	if property.Default != nil {
		text, err := json.Marshal(property.Default)
		if err != nil {
			fail(err)
		}
		add("default=%s", text)
	}
	return out.String()
}

// A type: letters as `generated.rs` explains them; the Go name of a named type precedes a colon.
func text(of reflect.Type) string {
	if known, found := special[of]; found {
		return known
	}
	own := ""
	if of.PkgPath() != "" && of.Kind() != reflect.Struct {
		own = of.String() + ":"
	}
	switch of.Kind() {
	case reflect.String:
		return own + "s"
	case reflect.Bool:
		return own + "b"
	case reflect.Int32:
		return own + "i"
	case reflect.Int64, reflect.Int:
		return own + "l"
	case reflect.Float64:
		return own + "d"
	case reflect.Uint8:
		return own + "y"
	case reflect.Slice:
		return own + "*" + text(of.Elem())
	case reflect.Map:
		return own + "%" + text(of.Elem())
	case reflect.Pointer:
		return text(of.Elem())
	case reflect.Struct:
		describe(of)
		return name(of)
	default:
		panic("a type of another sort: " + of.String())
	}
}

func internal() {
	for _, kind := range quoted {
		describeInternal(kind)
	}
	printLines()
}

// `core.PodSpec: 0 Volumes *core.Volume, …`; types outside of the internal packages have their own names in JSON.
func describeInternal(of reflect.Type) {
	full := of.String()
	if _, known := lines[full]; known {
		return
	}
	lines[full] = ""
	var fields []string
	for i := range of.NumField() {
		each := of.Field(i)
		tag := strings.Split(each.Tag.Get("json"), ",")
		label, marks := each.Name, ""
		switch {
		case each.Anonymous && tag[0] == "":
			label = "-"
		case tag[0] != "":
			label = tag[0]
		}
		if each.Type.Kind() == reflect.Pointer {
			marks += "&"
		}
		for _, option := range tag[1:] {
			if option == "omitempty" || option == "omitzero" {
				marks += "?"
			}
		}
		fields = append(fields, "0 "+label+" "+internalText(each.Type)+marks)
	}
	lines[full] = strings.Join(fields, ", ")
}

func internalText(of reflect.Type) string {
	if known, found := special[of]; found {
		return known
	}
	switch of.Kind() {
	case reflect.Pointer:
		return internalText(of.Elem())
	case reflect.Slice:
		return "*" + internalText(of.Elem())
	case reflect.Map:
		return "%" + internalText(of.Elem())
	case reflect.Struct:
		describeInternal(of)
		return of.String()
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Float64:
		return "d"
	case reflect.Interface:
		return "J"
	default:
		return "i"
	}
}
