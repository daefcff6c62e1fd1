import { Injectable } from '@nestjs/common';

import { Config } from '#platform';

import { clientToolsOff } from './client-tools.errors.js';

/** Whether this server leaves calls to clients at all. */
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
