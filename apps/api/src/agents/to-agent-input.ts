import type { AgentChanges, AgentSelection, NewAgent } from '#chat';
import { AppError } from '#platform';

import type { AgentSelectionInput, CreateAgentInput, UpdateAgentInput } from './agent.input.js';

/** Null empties these; of the other members it is as if they were absent. */
const nullable = new Set(['model', 'toolApproval', 'toolEventFormat']);
const beside = new Set(['id', 'expectedVersion']);

/** What is said of a new agent. The service reads every member again. */
export function toNewAgent({ name, ...fields }: Omit<CreateAgentInput, 'upsert'>): NewAgent {
  return { name, ...given(fields) };
}

/** Which agent, and since when, is said beside them. */
export function toAgentChanges(input: UpdateAgentInput): AgentChanges {
  return given(input);
}

/** Throws `bad_request`. */
export function toAgentSelection(selection: AgentSelectionInput | null | undefined): {
  readonly agent?: AgentSelection;
} {
  if (selection == null) return {};
  const { id, auto } = selection;
  if ((id == null) !== (auto === true))
    throw new AppError({ code: 'bad_request', message: 'Set either id or auto: true', field: 'agent' });
  return { agent: id == null ? { type: 'auto' } : { type: 'agent', ref: id } };
}

function given(fields: object): AgentChanges {
  const entries = Object.entries(fields).flatMap(([name, value]: [string, unknown]) => {
    if (beside.has(name) || value === undefined || (value === null && !nullable.has(name))) return [];
    return [[name, name === 'limits' ? without(value) : value]];
  });
  return Object.fromEntries(entries) as AgentChanges; // read again by the service
}

/** Without members that are null. */
function without(limits: unknown): object {
  return Object.fromEntries(Object.entries(Object(limits) as object).filter(([, value]) => value != null));
}
