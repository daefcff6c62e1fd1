import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';
import { buildSchema, isUnionType, Kind, parse, type SelectionSetNode } from 'graphql';

const schema = buildSchema(readFileSync(join('apps', 'api', 'schema.gql'), 'utf8'));
const document = parse(readFileSync(join('packages', 'client', 'src', 'operations', 'job-events.graphql'), 'utf8'));

/** The fields that are asked for on a type, fragments on it and on its interface included. */
function fieldsOn(set: SelectionSetNode, type: string): string[] {
  return set.selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection.name.value];
    if (selection.kind !== Kind.INLINE_FRAGMENT) return [];
    const on = selection.typeCondition?.name.value;
    return on === type || on === 'JobEventEntry' ? fieldsOn(selection.selectionSet, type) : [];
  });
}

const union = schema.getType('JobEvent');
const members = isUnionType(union) ? union.getTypes() : [];
const [operation] = document.definitions;
const [jobEvents] = operation?.kind === Kind.OPERATION_DEFINITION ? operation.selectionSet.selections : [];
const selected = jobEvents?.kind === Kind.FIELD ? jobEvents.selectionSet : undefined;

describe('event operations of the client', () => {
  it.each(members.map((type) => [type.name, type] as const))('selects every field of %s', (name, type) => {
    if (selected === undefined) throw new Error('job-events.graphql asks for jobEvents');
    const asked = fieldsOn(selected, name);
    expect(Object.keys(type.getFields()).filter((field) => !asked.includes(field))).toEqual([]);
  });
});
