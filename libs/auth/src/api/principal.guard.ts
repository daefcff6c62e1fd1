import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';

import { AppError } from '#platform';
import { readBody } from '#platform/api';

import { abilityOf } from '../ability.factory.js';
import { Authenticator } from '../authentication/authenticator.service.js';
import type { MemberPrincipal } from '../principal.js';
import { credentialsOf } from './credentials-of.js';
import { rememberPrincipal } from './current-principal.js';
import { ownBodyKey, type RequiredAbility, requiredAbilityKey } from './require-ability.js';

/** Rejects a request without a valid credential, and a route that names no required right. Reads the body last. */
@Injectable()
export class PrincipalGuard implements CanActivate {
  constructor(
    protected readonly authenticator: Authenticator,
    private readonly reflector: Reflector,
  ) {}

  /** Throws `unauthenticated`, `not_found` (the workspace), `bad_request` (the token must name a workspace), `forbidden`, `rate_limited`. */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const asked = this.reflector.get<RequiredAbility | undefined>(requiredAbilityKey, context.getHandler());
    if (asked === undefined) throw new Error(`${context.getHandler().name} has no @RequireAbility`);
    const request = context.switchToHttp().getRequest<Request>();
    const principal = await this.authenticate(request, asked);
    // Rights to read and change depend on the row, which is checked where it is read (an absent row and a forbidden one give the same error).
    // A new row does not exist yet, so this right is checked here.
    if (asked.action === 'create' && !abilityOf(principal).can('create', asked.subject)) {
      throw new AppError({ code: 'forbidden', message: 'Forbidden' });
    }
    rememberPrincipal(request, principal);
    if (!this.reflector.get<boolean | undefined>(ownBodyKey, context.getHandler()))
      await readBody(request, principal.userId);
    return true;
  }

  /** Authenticates the caller in the workspace that the request names, or in the only one. */
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
