import { defined } from '#platform';
import { defineTool, type Tool, type ToolContext } from '#tools';

import type { HttpToolExecutor } from './http-tool.executor.js';
import type { HttpTool } from './http-tool.js';
import { parseUrlTemplate } from './url-template.js';

/** A version of a workspace's tool. */
export interface VersionedTool {
  readonly id: string;
  readonly version: number;
  readonly definition: HttpTool;
}

/** Makes the tool that jobs run. Its version identifies this definition. */
export function toTool({ id, version, definition }: VersionedTool, executor: HttpToolExecutor): Tool {
  const { name, description, parameters, effect, repeatable, isolation, allowEdit, sensitiveFields } = definition;
  const { timeoutMs, approval, onUnknown, verify, concurrency } = definition;
  const operation = operationOf(definition);
  return defineTool({
    name,
    description,
    input: parameters,
    runtime: 'server',
    sort: 'http',
    version: `${id}@${version}`,
    effect,
    repeatable,
    isolation,
    allowEdit,
    sensitiveFields,
    ...(concurrency === undefined || isolation !== 'queue' ? {} : { concurrency }),
    ...defined({ timeoutMs, approval, onUnknown }),
    ...(verify === undefined ? {} : { verify: asVerify(definition, executor) }),
    grantKey: () => operation,
    execute: (args, context) => executor.run(definition, args, context),
  });
}

/** The operation of a timed grant: this method at this host. */
function operationOf({ method, url }: HttpTool): string {
  const template = parseUrlTemplate(url);
  return `${method} ${typeof template === 'string' ? '' : template.host}`;
}

function asVerify(definition: HttpTool, executor: HttpToolExecutor) {
  return (idempotencyKey: string, context: ToolContext) => executor.verify(definition, { ...context, idempotencyKey });
}
