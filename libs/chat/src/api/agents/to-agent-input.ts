import type { AgentChanges, NewAgent } from '../../agents/agent-input.js';
import type { CreateAgentInput, UpdateAgentInput } from './agent.input.js';

/** Null empties these; of the other members it is as if they were absent. */
const nullable = new Set(['model', 'maxRunningJobs', 'toolApproval', 'toolEventFormat']);
const beside = new Set(['id', 'expectedVersion']);

/** The input for a new agent. The service validates every member again. */
export function toNewAgent({ name, ...fields }: Omit<CreateAgentInput, 'upsert'>): NewAgent {
  return { name, ...given(fields) };
}

/** The changed settings. The agent's id and the expected version are separate arguments. */
export function toAgentChanges(input: UpdateAgentInput): AgentChanges {
  return given(input);
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
