"""Programs in JavaScript, TypeScript and Go that are hard to edit without changing what they do."""

JAVASCRIPT = """#!/usr/bin/env node
'use strict'
// what this file is for
const out = []

function sum(list, { start = 0, step: width } = {}) { // trailing
  let total = start
  // one at a time
  for (const item of list) {
    if (item < 0) continue
    total += item * (width || 1)
  }
  return total
}

class Base { constructor(size) { this.size = size } }
class Box extends Base {
  /** How much goes in. */
  constructor(size, label) {
    super(size)
    this.label = label
  }
  get text() {
    'use strict'
    const { size, label } = this
    return `box ${ /* inner */ label}
  of // no comment
  ${size}`
  }
  static of(...sizes) {
    return sizes.map((size) => new Box(size, 'x'))
  }
}

function shapes(input) {
  var found = input.match(/\\/\\/[^/]+/g) || []
  const size = found.length, pair = { size, found }
  outer: for (let i = 0; i < size; i++) {
    switch (found[i]) {
      case '//a':
        out.push(i)
        break
      default:
        // eslint-disable-next-line no-labels
        if (i > 2) break outer
    }
  }
  try {
    if (!size) throw new Error('nothing')
  } catch (error) {
    out.push(error.message)
  }
  const inner = function () { return arguments.length + size }
  return [pair, inner(1, 2)]
}

async function later(value) {
  await null
  const twice = value * 2
  /* two
     lines */
  return twice
}

function* count(to) {
  for (let at = 0; at < to; at++) {
    yield at
  }
}

const say = (line) => process.stdout.write('= ' + JSON.stringify(line) + '\\n')
say(sum([1, -2, 3], { step: 2 }))
say(new Box(3, 'b').text)
say(Box.of(1, 2))
say(shapes('//a//b'))
say(shapes(''))
say([...count(3)])
say(out)
later(4).then(say)
"""

TYPESCRIPT = """// @ts-check
/* eslint-disable no-console */
import { readFile } from 'fs'

export interface Shape { readonly size: number; area(of: number): number }
export type Named<T> = T & { name: string }
enum Side { Left = 1, Right } // two sides

export function isShape(value: unknown): value is Shape {
  const found = value as Shape
  // @ts-ignore: looked at on purpose
  return found.size > 0
}

export class Store<T> {
  private items: Map<string, T> = new Map()

  constructor(private readonly limit: number, label?: string) {
    const shown = label ?? 'store'
    this.name = shown
  }

  name: string

  get(key: string): T | undefined {
    const item = this.items.get(key)
    /* not there */
    if (item === undefined) {
      return undefined
    }
    return item
  }

  each(visit: (item: T, key: string) => void): void {
    for (const [key, item] of this.items) {
      visit(item, key)
    }
  }
}

function overload(one: number): number
function overload(one: string): string
function overload(one: any): any {
  let result = one
  result = result + 1
  return { result, one }
}

namespace Inner {
  export const depth = 3
  export function down(level: number): typeof depth {
    const next = level + depth
    return next as any
  }
}
"""

GO = """//go:build !windows

// Package shelf keeps things.
package shelf

import (
\t"errors"
\t"fmt"
)

//go:generate stringer -type=Kind

// Kind of a thing.
type Kind int

type thing struct {
\tname string
\tsize int
}

//go:noinline
func pinned(n int) int {
\treturn n + 1
}

func parse(text string, sizes map[string]int) (found *thing, err error) {
\tif text == "" {
\t\treturn nil, errors.New("empty") // nothing there
\t}
\tsize, ok := sizes[text]
\tif !ok {
\t\tsize := len(text)
\t\treturn &thing{name: text, size: size}, nil
\t}
\treturn &thing{text, size}, nil
}

func (t *thing) grow(by int) (int, error) {
\tif by < 0 {
\t\treturn 0, fmt.Errorf("negative: %d", by)
\t}
\tt.size += by
\treturn t.size, nil
}

func all(texts []string) (total int, err error) {
\t/* every one */
\tfor i, text := range texts {
\t\tone, err := parse(text, map[string]int{"a": i})
\t\tif err != nil {
\t\t\treturn total, err
\t\t}
\t\tswitch kind := interface{}(one.name).(type) {
\t\tcase string:
\t\t\ttotal += len(kind)
\t\tdefault:
\t\t\tcontinue
\t\t}
\t}
\tdone := make(chan int, 1)
\tdone <- total
\tselect {
\tcase total = <-done:
\t\ttotal++
\tdefault:
\t}
\tadd := func(n int) int {
\t\ttotal := total + n
\t\treturn total
\t}
\treturn add(1), nil
}

func safe(run func()) (err error) {
\tdefer func() {
\t\tif r := recover(); r != nil {
\t\t\terr = fmt.Errorf("%v", r)
\t\t}
\t}()
\trun()
\treturn nil
}
"""

PROGRAMS = {"javascript": JAVASCRIPT, "typescript": TYPESCRIPT, "go": GO}
