import { type DynamicModule, Module } from '@nestjs/common';

import { ApiKeysService } from './api-keys/api-keys.service.js';
import type { Auth } from './authentication/auth.js';
import { Authenticator } from './authentication/authenticator.service.js';
import { InvitationsService } from './workspaces/invitations.service.js';
import { MembersService } from './workspaces/members.service.js';
import { WorkspacesService } from './workspaces/workspaces.service.js';

/** Provides the services of `openAuth` to Nest. */
@Module({})
export class AuthModule {
  static with(auth: Auth): DynamicModule {
    const providers = [
      { provide: Authenticator, useValue: auth.authenticator },
      { provide: WorkspacesService, useValue: auth.workspaces },
      { provide: MembersService, useValue: auth.members },
      { provide: InvitationsService, useValue: auth.invitations },
      { provide: ApiKeysService, useValue: auth.apiKeys },
    ];
    return { module: AuthModule, providers, exports: providers };
  }
}
