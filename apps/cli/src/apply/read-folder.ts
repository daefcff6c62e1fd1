import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { usageError } from '../cli.errors.js';
import { oneLine } from '../terminal/plain-text.js';
import { triggerKey } from './compare-triggers.js';
import { isObject, type JsonObject, type Resource, type ResourceKind, resourceKinds } from './resource.js';

const POLICY_FILE = 'policy.json';
const folders: Readonly<Record<string, ResourceKind>> = {
  tools: 'tool',
  'mcp-servers': 'mcp-server',
  agents: 'agent',
  workflows: 'workflow',
  schedules: 'schedule',
  'syntrix-connections': 'syntrix-connection',
  triggers: 'trigger',
};

/** Fields of kinds whose format is fixed; the server checks the others. */
const knownFields: Partial<Record<ResourceKind, ReadonlySet<string>>> = {
  agent: new Set([
    ...['name', 'slug', 'description', 'model', 'instructions', 'tools', 'externalTools', 'limits'],
    ...['parameters', 'toolApproval', 'toolEventFormat', 'maxRunningJobs'],
  ]),
  'mcp-server': new Set(['name', 'http', 'stdio', 'calls', 'enabled']),
  schedule: new Set(['name', 'workflowId', 'cron', 'timeZone', 'missed', 'prompt', 'enabled']),
  'chat-schedule': new Set([
    ...['name', 'message', 'messages', 'agent', 'model', 'tools', 'threadId'],
    ...['cron', 'timeZone', 'missed', 'enabled'],
  ]),
  'syntrix-connection': new Set([
    ...['name', 'baseUrl', 'apiStyle', 'database', 'auth', 'secret', 'token', 'model', 'tools', 'systemPrompt'],
    ...['toolCollection', 'maxToolCalls', 'maxToolCallsScope', 'rateLimit'],
  ]),
  trigger: new Set([
    ...['triggerId', 'version', 'database', 'tenant', 'source', 'collection', 'events', 'condition', 'filters', 'url'],
    ...['headers', 'retryPolicy', 'timeout', 'secretsRef', 'concurrency', 'rateLimit', 'includeBefore', 'issueToken'],
    ...['start', 'enabled'],
  ]),
};

/** The resources of a folder, in the order in which they are applied. Throws a usage error that names the file and the field. */
export async function readFolder(folder: string): Promise<readonly Resource[]> {
  const entries = await entriesOf(folder);
  const unknown = entries.find(({ name, isFolder }) =>
    isFolder ? !(name in folders) : name.endsWith('.json') && name !== POLICY_FILE,
  );
  if (unknown !== undefined)
    throw usageError(
      `${join(folder, unknown.name)} is neither a file nor a folder that apply reads.`,
      `It reads ${POLICY_FILE} and the folders ${Object.keys(folders).join(', ')}.`,
    );
  const resources: Resource[] = [];
  if (entries.some(({ name }) => name === POLICY_FILE)) resources.push(await read(folder, POLICY_FILE, 'policy'));
  for (const [name, kind] of Object.entries(folders)) {
    if (!entries.some((entry) => entry.name === name)) continue;
    const files = (await entriesOf(join(folder, name))).filter((entry) => entry.name.endsWith('.json'));
    for (const file of files) resources.push(await read(folder, join(name, file.name), kind));
  }
  if (resources.length === 0) throw usageError(`${folder} has no JSON files to apply.`);
  assertUnique(resources);
  return inOrder(resources);
}

/** Sorted by name, so that every machine applies them in the same order. */
async function entriesOf(folder: string): Promise<{ readonly name: string; readonly isFolder: boolean }[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const visible = entries.filter(({ name }) => !name.startsWith('.'));
    const found = visible.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    throw usageError(`${folder} cannot be read: ${messageOf(error)}`);
  }
}

async function read(folder: string, file: string, folderKind: ResourceKind): Promise<Resource> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(join(folder, file), 'utf8'));
  } catch (error) {
    throw usageError(`${file}: not JSON: ${oneLine(messageOf(error))}`);
  }
  if (!isObject(value)) throw usageError(`${file}: must be a JSON object.`);
  const kind = folderKind === 'schedule' && isChat(value) ? 'chat-schedule' : folderKind;
  const known = knownFields[kind];
  const stranger = known === undefined ? undefined : Object.keys(value).find((name) => !known.has(name));
  if (stranger !== undefined)
    throw usageError(
      `${file}: ${oneLine(stranger)}: is not a field of this ${kind}.`,
      `Fields: ${[...(known ?? [])].join(', ')}.`,
    );
  return { kind, key: keyOf(kind, value, file), file, value };
}

/** A schedule starts a workflow or, with messages, a chat. */
function isChat(schedule: JsonObject): boolean {
  return schedule['workflowId'] === undefined && ('message' in schedule || 'messages' in schedule);
}

function keyOf(kind: ResourceKind, value: JsonObject, file: string): string {
  switch (kind) {
    case 'policy':
      return '';
    case 'workflow':
      return text(isObject(value['meta']) ? value['meta']['id'] : undefined, file, 'meta.id');
    case 'agent': {
      const name = text(value['name'], file, 'name');
      return value['slug'] === undefined ? name : text(value['slug'], file, 'slug');
    }
    case 'schedule':
      for (const field of ['workflowId', 'cron', 'prompt']) text(value[field], file, field);
      return text(value['name'], file, 'name');
    case 'chat-schedule':
      text(value['cron'], file, 'cron');
      return text(value['name'], file, 'name');
    case 'trigger':
      text(value['triggerId'], file, 'triggerId');
      return triggerKey(value);
    case 'tool':
    case 'mcp-server':
    case 'syntrix-connection':
      return text(value['name'], file, 'name');
  }
}

function text(value: unknown, file: string, field: string): string {
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  throw usageError(`${file}: ${field}: is required and must be text.`);
}

function assertUnique(resources: readonly Resource[]): void {
  const seen = new Map<string, string>();
  for (const { kind, key, file } of resources) {
    const id = `${kind === 'chat-schedule' ? 'schedule' : kind} ${key}`; // their names are unique together
    const other = seen.get(id);
    if (other !== undefined) throw usageError(`${other} and ${file} both define the ${oneLine(id)}.`);
    seen.set(id, file);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** By kind; workflows after the subflows that they run. Files that form a cycle keep their order, and the server refuses them. */
export function inOrder(resources: readonly Resource[]): readonly Resource[] {
  const ofKind = (kind: Resource['kind']) => resources.filter((resource) => resource.kind === kind);
  return resourceKinds.flatMap((kind) => (kind === 'workflow' ? subflowsFirst(ofKind(kind)) : ofKind(kind)));
}

function subflowsFirst(workflows: readonly Resource[]): readonly Resource[] {
  const byKey = new Map(workflows.map((workflow) => [workflow.key, workflow]));
  const ordered = new Set<Resource>();
  const entered = new Set<Resource>();
  const add = (workflow: Resource): void => {
    if (entered.has(workflow)) return;
    entered.add(workflow);
    for (const id of subflowsOf(workflow)) {
      const subflow = byKey.get(id);
      if (subflow !== undefined) add(subflow);
    }
    ordered.add(workflow);
  };
  workflows.forEach(add);
  return [...ordered];
}

function subflowsOf({ value }: Resource): readonly string[] {
  const nodes = Array.isArray(value['nodes']) ? (value['nodes'] as readonly unknown[]) : [];
  return nodes.flatMap((node) => {
    if (!isObject(node) || node['type'] !== 'subflow' || !isObject(node['data'])) return [];
    const id = node['data']['subflowId'];
    return typeof id === 'string' ? [id] : [];
  });
}
