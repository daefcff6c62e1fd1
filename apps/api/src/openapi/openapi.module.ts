import { Module } from '@nestjs/common';

import { OpenApiController } from './openapi.controller.js';

/** The OpenAPI document, and the page that draws it. */
@Module({ controllers: [OpenApiController] })
export class OpenApiModule {}
