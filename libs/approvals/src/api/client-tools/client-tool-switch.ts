import { Injectable } from '@nestjs/common';

import { Config } from '#platform';

import { clientToolsOff } from './client-tools.errors.js';

/** Tells whether clients may run tools of jobs on this server. */
@Injectable()
export class ClientToolSwitch {
  constructor(private readonly config: Config) {}

  get isOn(): boolean {
    return this.config.values.FEATURE_CLIENT_TOOLS;
  }

  /** Throws `client_tools_off`. */
  assertOn(): void {
    if (!this.isOn) throw clientToolsOff();
  }
}
