import type { ExecutionContext } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';

import type { AppError } from '#platform';

import { refusalOf } from '../ability.factory.js';
import type { Principal } from '../principal.js';
import { type RequiredAbility, requiredAbilityKey, requiredAuthenticationKey } from './require-ability.js';

/** The right that the endpoint of this call declares; null: every authenticated caller may use it. Throws if the endpoint declares nothing. */
export function declaredBy(reflector: Reflector, context: ExecutionContext): RequiredAbility | null {
  const handler = context.getHandler();
  const declared = reflector.get<RequiredAbility | undefined>(requiredAbilityKey, handler);
  if (declared !== undefined) return declared;
  if (reflector.get<boolean | undefined>(requiredAuthenticationKey, handler) === true) return null;
  throw new Error(`${context.getClass().name}.${handler.name} has no @RequireAbility`);
}

/**
 * The error for a principal without the declared right, null for one who has it. It depends on the principal alone and reads no row, so it
 * reveals nothing about rows.
 */
export function refusalBy(declared: RequiredAbility | null, principal: Principal): AppError | null {
  if (declared === null) return null;
  const refusal = refusalOf(principal, declared);
  if (refusal === null) return null;
  if (refusal.code !== 'not_found') return declared.refused?.() ?? refusal;
  return declared.absent === 'handler' ? null : (declared.absent?.() ?? refusal);
}
