package main

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/controlplane"
	"k8s.io/kubernetes/pkg/printers/internalversion"
)

type collector struct{}

// `apps Deployment: 0 string name Name, 0 string - Ready, …`: priority, type, format and heading.
func headings() {
	internalversion.AddHandlers(collector{})
	printLines()
}

func (collector) TableHandler(columns []metav1.TableColumnDefinition, print any) error {
	of := reflect.TypeOf(print).In(0)
	object, ok := reflect.New(of.Elem()).Interface().(runtime.Object)
	if !ok || strings.HasSuffix(of.Elem().Name(), "List") {
		return nil
	}
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(object)
	if err != nil {
		fail(err)
	}
	items := make([]string, len(columns))
	for i, column := range columns {
		format := column.Format
		if format == "" {
			format = "-"
		}
		items[i] = fmt.Sprintf("%d %s %s %s", column.Priority, column.Type, format, column.Name)
	}
	group := kinds[0].Group
	if group == "" {
		group = "core"
	}
	lines[group+" "+kinds[0].Kind] = strings.Join(items, ", ")
	return nil
}
