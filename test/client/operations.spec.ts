import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';
import type { WorkflowState } from '@nightshift/client';
import { buildSchema, isUnionType, Kind, parse, type SelectionSetNode } from 'graphql';

import type { WorkflowState as ServerState } from '#workflows';

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

/** Compiles only if each type accepts the other: members are missing on neither side. */
type Same<Left, Right> = [Left, Right] extends [Right, Left] ? true : false;
type Members<T> = { readonly [Name in keyof T]: true };
const sameMembers: [
  Same<Members<WorkflowState>, Members<ServerState>>,
  Same<Members<WorkflowState['nodeStates'][string]>, Members<ServerState['nodeStates'][string]>>,
  Same<Members<WorkflowState['branches'][string]>, Members<ServerState['branches'][string]>>,
  Same<Members<NonNullable<WorkflowState['result']>>, Members<NonNullable<ServerState['result']>>>,
  Same<Members<NonNullable<WorkflowState['resumeState']>>, Members<NonNullable<ServerState['resumeState']>>>,
] = [true, true, true, true, true];
const toClientState = (state: ServerState): WorkflowState => state;

describe('WorkflowState of the client', () => {
  it('matches the type of the server member by member', () => {
    expect(sameMembers.every(Boolean)).toBe(true); // the compiler checks it
    expect(toClientState).toEqual(expect.any(Function));
  });
});

describe('event operations of the client', () => {
  it.each(members.map((type) => [type.name, type] as const))('select every field of %s', (name, type) => {
    if (selected === undefined) throw new Error('job-events.graphql asks for jobEvents');
    const asked = fieldsOn(selected, name);
    expect(Object.keys(type.getFields()).filter((field) => !asked.includes(field))).toEqual([]);
  });
});
