import { Controller, Get, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';

import { Metrics } from '#platform';

import { isLocalRequest } from './is-local-request.js';
import { Readiness, type ReadinessReport } from './readiness.js';

/** For those who run Nightshift: is it alive, does it want work, what is it doing. No credential is asked for. */
@Controller()
export class HealthController {
  constructor(
    private readonly readiness: Readiness,
    private readonly metrics: Metrics,
  ) {}

  /** The process answers. */
  @Get('healthz')
  alive(): { readonly status: 'ok' } {
    return { status: 'ok' };
  }

  /** 200 when it is worth sending requests here, else 503; says which part is missing and nothing more. */
  @Get('readyz')
  async ready(@Res({ passthrough: true }) response: Response): Promise<ReadinessReport> {
    const report = await this.readiness.report();
    response.status(report.status === 'ready' ? 200 : 503);
    return report;
  }

  /** Prometheus text. Numbers of all tenants together, so only for the machine itself: a tenant must not count another. */
  @Get('metrics')
  async scrape(@Req() request: Request, @Res() response: Response): Promise<void> {
    if (!isLocalRequest(request)) {
      response.status(404).json({ error: 'Not found', code: 'not_found' });
      return;
    }
    response.type(this.metrics.registry.contentType).send(await this.metrics.registry.metrics());
  }
}
