import { type CanActivate, Injectable } from '@nestjs/common';

import { ClientToolSwitch } from './client-tool-switch.js';

/** Refuses requests to the routes of client tools while client tools are switched off, before their bodies are validated. */
@Injectable()
export class ClientToolsOnGuard implements CanActivate {
  constructor(private readonly theSwitch: ClientToolSwitch) {}

  /** Throws `client_tools_off`. */
  canActivate(): boolean {
    this.theSwitch.assertOn();
    return true;
  }
}
