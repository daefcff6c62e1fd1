import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';

import { AppError } from '#platform';
import { readBody } from '#platform/api';

import { abilityOf } from '../ability.factory.js';
import { Authenticator } from '../authenticator.service.js';
import type { MemberPrincipal } from '../principal.js';
import { credentialsOf } from './credentials-of.js';
import { rememberPrincipal } from './current-principal.js';
import { ownBodyKey, type RequiredAbility, requiredAbilityKey } from './require-ability.js';

/** Admits no request without a valid credential, and no route without a named right. The body is read last. */
@Injectable()
export class PrincipalGuard implements CanActivate {
  constructor(
    protected readonly authenticator: Authenticator,
    private readonly reflector: Reflector,
  ) {}

  /** Throws `unauthenticated`, `not_found` (workspace), `bad_request` (which workspace?), `forbidden`, `rate_limited`. */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const asked = this.reflector.get<RequiredAbility | undefined>(requiredAbilityKey, context.getHandler());
    if (asked === undefined) throw new Error(`${context.getHandler().name} does not say what it asks for`);
    const request = context.switchToHttp().getRequest<Request>();
    const principal = await this.authenticate(request, asked);
    // Rows decide about reading and changing (absent and forbidden look the same); for a new row there is nothing to look at.
    if (asked.action === 'create' && !abilityOf(principal).can('create', asked.subject)) {
      throw new AppError({ code: 'forbidden', message: 'Forbidden' });
    }
    rememberPrincipal(request, principal);
    if (!this.reflector.get<boolean | undefined>(ownBodyKey, context.getHandler()))
      await readBody(request, principal.userId);
    return true;
  }

  /** In which workspace, and as whom: the one that the request names, or the only one. */
  protected enter(request: Request): Promise<MemberPrincipal> {
    return this.authenticator.authenticate(credentialsOf(request.headers));
  }

  private async authenticate(request: Request, { unauthenticatedText }: RequiredAbility): Promise<MemberPrincipal> {
    try {
      return await this.enter(request);
    } catch (error) {
      const isUnauthenticated = error instanceof AppError && error.code === 'unauthenticated';
      if (!isUnauthenticated || unauthenticatedText === undefined) throw error;
      throw new AppError({ code: 'unauthenticated', message: unauthenticatedText });
    }
  }
}
