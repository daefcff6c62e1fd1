import { expect, it } from '@jest/globals';

import { type Logger, Metrics } from '#platform';

import type { Tool } from './tool.js';
import { ToolCallTelemetry } from './tool-call.telemetry.js';

const toolOf = (sort: Tool['sort'], name: string) => ({ sort, name }) as Tool; // it reads nothing else

it('ToolCallTelemetry logs each ended call with its job, duration and error type', async () => {
  const lines: Record<string, unknown>[] = [];
  const logger = {
    info: (details: object, msg: string) => {
      lines.push({ ...details, msg });
    },
  } as unknown as Logger; // calls nothing else of it
  const metrics = new Metrics();
  const telemetry = new ToolCallTelemetry(metrics, logger);
  const call = { workspaceId: 'w', jobId: 'j', callId: 'c', keyCipher: 'secret' };
  telemetry.toolEnded(toolOf('server', 'calculate'), call, {
    status: 'completed',
    result: '1',
    modelText: '1',
    durationMs: 12.4,
  });
  const failure = { phase: 'timeout', message: 'private' } as const;
  telemetry.toolEnded(toolOf('http', 'own_name'), call, { status: 'timed_out', failure, modelText: '', durationMs: 5 });
  const ids = { workspace_id: 'w', job_id: 'j', call_id: 'c' };
  expect(lines).toMatchObject([
    { ...ids, msg: 'background_tool_execution_completed', tool_name: 'calculate', duration_ms: 12 },
    { ...ids, msg: 'background_tool_execution_failed', tool_name: 'http', duration_ms: 5, error_type: 'timeout' },
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/secret|private/);
  const counted = await metrics.registry.getSingleMetricAsString('background_tool_execution_failed');
  expect(counted).toContain('tool_name="http",error_type="timeout"');
});
