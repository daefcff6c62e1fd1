/**
 * A process as `npm start` starts it in any role, with the tools of `remote-tools.ts` more. Each asks the tool
 * server at CHAOS_TOOLS_URL to do it, with key and epoch, and returns its response; one asks it for the outcome of a lost call.
 */
import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

import type { Auth } from '#auth';
import { type Platform, PlatformModule } from '#platform';
import { defineTool, type JsonSchemaToolSpec, type Tool, type ToolContext, type Verification } from '#tools';

import { launch } from '../../apps/launcher/src/launch.js';
import { Terminal } from '../../apps/launcher/src/terminal/terminal.js';
import { ToolProcessLifecycle } from '../../apps/worker/src/tool-process.lifecycle.js';
import { ToolProcessModule } from '../../apps/worker/src/tool-process.module.js';
import { WorkerLifecycle } from '../../apps/worker/src/worker.lifecycle.js';
import { WorkerModule } from '../../apps/worker/src/worker.module.js';
import { remoteInput, type RemoteTool, remoteTools } from './remote-tools.js';

const toolsUrl = process.env['CHAOS_TOOLS_URL'] ?? '';

async function ask(path: string, { idempotencyKey, epoch, signal }: ToolContext, args: object = {}): Promise<string> {
  const headers = { 'idempotency-key': idempotencyKey, 'x-job-epoch': String(epoch) };
  const answer = await fetch(`${toolsUrl}/${path}`, { method: 'POST', headers, signal, body: JSON.stringify(args) });
  return answer.text();
}

async function verify(context: ToolContext): Promise<Verification> {
  const outcome = await ask('verify', context);
  if (outcome === 'unknown') return { outcome: 'unknown', note: 'The tool server does not say.' };
  return outcome === '' ? { outcome: 'did_not_happen' } : { outcome: 'happened', result: outcome };
}

function toTool([name, { effect, onUnknown = 'ask', isolation = 'worker' }]: [string, RemoteTool]): Tool {
  const spec: JsonSchemaToolSpec = {
    name,
    description: `${name} at the tool server of the tests`,
    effect,
    onUnknown,
    isolation,
    timeoutMs: 60_000,
    input: remoteInput,
    execute: (args, context) => {
      if (isolation === 'queue') context.progress({ message: `asks for ${name}` });
      return ask(name, context, args);
    },
    ...(onUnknown === 'verify' ? { verify: (_key: string, context: ToolContext) => verify(context) } : {}),
  };
  return defineTool(spec);
}

const tools = Object.entries(remoteTools).map(toTool);

@Module({ providers: tools.map((tool) => ({ provide: tool.name, useValue: tool })) })
class ChaosTools {}

@Module({})
class ChaosWorker {
  static with(platform: Platform, work: Type): DynamicModule {
    return { module: ChaosWorker, imports: [PlatformModule.with(platform), work, ChaosTools] };
  }
}

async function run(platform: Platform, work: { module: Type; lifecycle: Type<{ hurry(): Promise<void> }> }) {
  const app = await NestFactory.createApplicationContext(ChaosWorker.with(platform, work.module), {
    abortOnError: false,
    logger: false,
  });
  return { url: null, healthUrl: null, close: () => app.close(), hurry: () => app.get(work.lifecycle).hurry() };
}

const worker = (platform: Platform) => run(platform, { module: WorkerModule, lifecycle: WorkerLifecycle });
const toolProcess = (platform: Platform) =>
  run(platform, { module: ToolProcessModule, lifecycle: ToolProcessLifecycle });

/** Only a process with the API loads its code. */
const loadApi = () => import('../../apps/api/src/start-api.js');

async function api(platform: Platform, auth: Auth) {
  const { startApi } = await loadApi();
  const { HOST: host, PORT: port } = platform.config.values;
  const running = await startApi(platform, { host, port, auth, modules: [ChaosTools] });
  return { url: running.url, healthUrl: running.url, close: () => running.close(), hurry: () => Promise.resolve() };
}

async function all(platform: Platform, auth: Auth) {
  const { startApi } = await loadApi();
  const { HOST: host, PORT: port } = platform.config.values;
  const running = await startApi(platform, { host, port, auth, modules: [WorkerModule, ChaosTools] });
  const lifecycle = running.app.get(WorkerLifecycle);
  return {
    url: running.url,
    healthUrl: running.url,
    close: async () => {
      await Promise.all([running.close(), lifecycle.drain()]);
    },
    hurry: () => lifecycle.hurry(),
  };
}

process.exitCode = await launch({
  words: process.argv.slice(2),
  environment: process.env,
  roles: { worker, tools: toolProcess, api, all },
  out: new Terminal(process.stdout, { noColor: true }),
  errors: new Terminal(process.stderr, { noColor: true }),
  logsGoToTerminal: false,
  stopsAtHangUp: false,
});
