import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { z } from 'zod';

import { Public } from '#auth/api';
import { AppError, Config, Metrics } from '#platform';
import { ApiMediaReply, ApiPublic, ApiReply, errorBody, named } from '#platform/api';

import { Readiness, type ReadinessReport } from './readiness.js';

const ready: z.ZodType<ReadinessReport> = z.object({
  status: z.enum(['ready', 'not_ready']),
  draining: z.boolean(),
  database: z.boolean(),
  bus: z.boolean(),
  warnings: z.array(z.string()),
  plugins: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      hash: z.string(),
      tools: z.array(z.string()),
      hooks: z.array(z.string()),
      nodes: z.array(z.string()),
    }),
  ),
});

/** The responses of the health routes. */
const healthReplies = {
  alive: named('Alive', z.object({ status: z.literal('ok') })),
  ready: named('Readiness', ready),
} as const;

/** Health, readiness and metrics for operators. These routes need no credential. */
@ApiTags('Operations')
@ApiPublic()
@Public()
@Controller()
export class HealthController {
  constructor(
    private readonly readiness: Readiness,
    private readonly metrics: Metrics,
    private readonly config: Config,
  ) {}

  /** The process responds. */
  @Get('healthz')
  @ApiOperation({ operationId: 'getHealth', summary: 'Check that the process responds' })
  @ApiReply(200, healthReplies.alive, 'The process responds.')
  alive(): { readonly status: 'ok' } {
    return { status: 'ok' };
  }

  /** 200 when the process accepts requests, else 503; the body names the missing part, and the plugins. */
  @Get('readyz')
  @ApiOperation({ operationId: 'getReadiness', summary: 'Check that the process accepts requests' })
  @ApiReply(200, healthReplies.ready, 'The process accepts requests.')
  @ApiReply(503, healthReplies.ready, 'The process does not accept requests, or not yet.')
  async ready(@Res({ passthrough: true }) response: Response): Promise<ReadinessReport> {
    const report = await this.readiness.report();
    response.status(report.status === 'ready' ? 200 : 503);
    return report;
  }

  /** Prometheus text. It counts all tenants together, so it requires the operator's token: no tenant may learn another one's numbers. */
  @Get('metrics')
  @ApiOperation({ operationId: 'getMetrics', summary: 'Get the metrics of the process' })
  @ApiMediaReply(200, 'Prometheus text.', { 'text/plain': 'docs/metrics.md lists the metrics.' })
  @ApiReply(404, errorBody, 'The token is missing or wrong, or METRICS_TOKEN is not set.')
  async scrape(@Req() request: Request, @Res() response: Response): Promise<void> {
    if (!isBearer(request.headers, this.config.values.METRICS_TOKEN))
      throw new AppError({ code: 'not_found', message: 'Not found' });
    response.type(this.metrics.registry.contentType).send(await this.metrics.text());
  }
}

/** Whether the request carries this bearer token, compared in constant time; never without a token. */
function isBearer({ authorization }: IncomingHttpHeaders, token: string | undefined): boolean {
  const given = /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1];
  return token !== undefined && given !== undefined && timingSafeEqual(digestOf(given), digestOf(token));
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
