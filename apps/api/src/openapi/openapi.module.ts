import { Module } from '@nestjs/common';

import { OpenApiController } from './openapi.controller.js';
import { OpenApiDocument } from './openapi-document.js';

/** The OpenAPI document, and the page that shows it. */
@Module({ controllers: [OpenApiController], providers: [OpenApiDocument] })
export class OpenApiModule {}
