import type { McpAcceptance } from '../../mcp/choose-tools.js';
import type { McpSettings } from '../../mcp/mcp-server.js';
import type { McpServerChanges, NewMcpServer } from '../../mcp/mcp-servers.service.js';
import type { McpSettingsInput } from '../../mcp/mcp-settings.js';
import type {
  McpAcceptanceInput,
  McpCallsInput,
  McpHttpInput,
  McpSettingInput,
  McpStdioInput,
  RegisterMcpServerInput,
  UpdateMcpServerInput,
} from './mcp-server.input.js';
import { oneTransport, otherTransport } from './mcp-servers.errors.js';

/** A new server as the service takes it. Throws `bad_request` for both transports or none. */
export function toNewMcpServer(input: Omit<RegisterMcpServerInput, 'upsert'>): NewMcpServer {
  const { name, http, stdio, calls, enabled, accept } = input;
  if ((http == null) === (stdio == null)) throw oneTransport();
  const place = http == null ? toStdio(stdio ?? { command: '' }) : toHttp(http);
  return {
    name,
    settings: { ...place, ...toCalls(calls) },
    enabled: enabled ?? undefined,
    accept: accept == null ? undefined : toAcceptance(accept),
  };
}

/** Changes as the service takes them; they throw `bad_request` when they name another transport than the server's. */
export function toMcpServerChanges({
  name,
  http,
  stdio,
  calls,
  enabled,
}: Omit<UpdateMcpServerInput, 'id'>): McpServerChanges {
  const hasSettings = http != null || stdio != null || calls != null;
  const settings = (before: McpSettings) => ({ ...placeOf(before, { http, stdio }), ...toCalls(calls) });
  return {
    name: name ?? undefined,
    enabled: enabled ?? undefined,
    ...(hasSettings ? { settings } : {}),
  };
}

/** Which tools are accepted. Null is as if absent. */
export function toAcceptance(input: McpAcceptanceInput & { readonly seen?: readonly string[] | null }): McpAcceptance {
  return { names: input.names ?? undefined, all: input.all ?? undefined, seen: input.seen ?? undefined };
}

interface Place {
  readonly http: McpHttpInput | null | undefined;
  readonly stdio: McpStdioInput | null | undefined;
}

function placeOf(before: McpSettings, { http, stdio }: Place): McpSettingsInput {
  if (before.transport === 'http') {
    if (stdio != null) throw otherTransport('stdio');
    return { ...before, ...(http == null ? {} : toHttp(http, before.headers)) };
  }
  if (http != null) throw otherTransport('http');
  return { ...before, ...(stdio == null ? {} : toStdio(stdio, before)) };
}

function toHttp({ url, headers }: McpHttpInput, before: Readonly<Record<string, string>> = {}) {
  return { transport: 'http', url, headers: headers == null ? before : toRecord(headers) } as const;
}

function toStdio(
  { command, args, env }: McpStdioInput,
  before: { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> } = { args: [], env: {} },
) {
  return {
    transport: 'stdio',
    command,
    args: args ?? before.args,
    env: env == null ? before.env : toRecord(env),
  } as const;
}

/** Null means "none" where the field allows it, else the field counts as absent. */
function toCalls(calls: McpCallsInput | null | undefined) {
  if (calls == null) return {};
  const { timeoutMs, isolated, trusted, effect, effects } = calls;
  return {
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(isolated == null ? {} : { isolated }),
    ...(trusted == null ? {} : { trusted }),
    ...(effect === undefined ? {} : { effect }),
    ...(effects == null ? {} : { effects: Object.fromEntries(effects.map((one) => [one.tool, one.effect])) }),
  };
}

function toRecord(settings: readonly McpSettingInput[]): Record<string, string> {
  return Object.fromEntries(settings.map(({ name, value }) => [name, value]));
}
