/**
 * A worker process as `npm start -- --role worker` starts it, with three tools more: `look_up` (pure), `charge` (idempotent) and
 * `send_letter` (once). Each asks the tool server at CHAOS_TOOLS_URL to do it, with key and epoch, and gives back what that says.
 */
import { type DynamicModule, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

import { type Platform, PlatformModule } from '#platform';
import { defineTool, type JsonSchemaToolSpec, type Tool, type ToolEffect } from '#tools';

import { launch } from '../../apps/launcher/src/launch.js';
import { Terminal } from '../../apps/launcher/src/terminal.js';
import { WorkerLifecycle } from '../../apps/worker/src/worker.lifecycle.js';
import { WorkerModule } from '../../apps/worker/src/worker.module.js';

const toolsUrl = process.env['CHAOS_TOOLS_URL'] ?? '';

function remoteTool(name: string, effect: ToolEffect): Tool {
  const spec: JsonSchemaToolSpec = {
    name,
    description: `${name} at the tool server of the tests`,
    effect,
    timeoutMs: 20_000,
    input: { type: 'object', properties: {} },
    execute: async (_args, { idempotencyKey, epoch, signal }) => {
      const headers = { 'idempotency-key': idempotencyKey, 'x-job-epoch': String(epoch) };
      const answer = await fetch(`${toolsUrl}/${name}`, { method: 'POST', headers, signal });
      return answer.text();
    },
  };
  return defineTool(spec);
}

const tools = [remoteTool('look_up', 'pure'), remoteTool('charge', 'idempotent'), remoteTool('send_letter', 'once')];

@Module({})
class ChaosWorker {
  static with(platform: Platform): DynamicModule {
    const providers = tools.map((tool) => ({ provide: tool.name, useValue: tool }));
    return { module: ChaosWorker, imports: [PlatformModule.with(platform), WorkerModule], providers };
  }
}

async function worker(platform: Platform) {
  // Nest declares its options as a class and never makes an instance of it.

  const app = await NestFactory.createApplicationContext(ChaosWorker.with(platform), {
    abortOnError: false,
    logger: false,
  });
  return { url: null, healthUrl: null, close: () => app.close(), hurry: () => app.get(WorkerLifecycle).hurry() };
}

const onlyWorkers = () => Promise.reject(new Error('this entry point starts workers only'));

process.exitCode = await launch({
  words: process.argv.slice(2),
  environment: process.env,
  roles: { worker, api: onlyWorkers, all: onlyWorkers },
  out: new Terminal(process.stdout, { noColor: true }),
  errors: new Terminal(process.stderr, { noColor: true }),
  logsAreWatched: false,
});
