import type { Request } from 'express';
import { NOT_FOUND, type Answer } from './answer.ts';
import type { Route } from './operation.ts';
import { must } from '../domain/values/must.ts';

/** Answers an authenticated request without a route: 405 if another method exists, otherwise 404. */
export function createUnmatched(routes: readonly Route[]): (request: Request) => Answer {
  const methodsOf = new Map<string, string[]>();
  for (const { operation } of routes)
    methodsOf.set(operation.path, [...(methodsOf.get(operation.path) ?? []), operation.method.toUpperCase()]);
  const paths = [...methodsOf].map(([path, methods]) => ({
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    methods,
  }));

  return (request) => {
    const path = must(request.originalUrl.split('?', 1)[0]);
    // A fixed path, such as that of create, is not an id of the resource beside it.
    const methods =
      methodsOf.get(path) ?? paths.filter(({ pattern }) => pattern.test(path)).flatMap((match) => match.methods);
    if (methods.length === 0 || methods.includes(request.method)) return NOT_FOUND;
    return {
      ok: false,
      refusal: { code: 'method_not_allowed', message: `This path takes ${methods.join(', ')}.` },
      allow: methods,
    };
  };
}
