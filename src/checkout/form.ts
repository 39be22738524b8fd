import express, { type Request, type RequestHandler } from 'express';

const MAX_FIELDS = 20;

/**
 * Reads a form of limited size. A form that is too large or malformed leaves an empty body: the sender gets the page,
 * and no alarm is raised.
 */
export function readForm(maxBytes: number): RequestHandler {
  const parse = express.urlencoded({ extended: false, limit: maxBytes, parameterLimit: MAX_FIELDS });
  return (request, response, next) =>
    parse(request, response, (error?: unknown) => {
      if (error) {
        request.body = {};
        // The unread rest must not be parsed as the next request.
        response.set('Connection', 'close');
      }
      next();
    });
}

/** A field that `readForm` has read; undefined if it is absent or repeated. */
export function formField({ body }: Pick<Request, 'body'>, name: string): string | undefined {
  const fields: unknown = body;
  if (typeof fields !== 'object' || fields === null) return undefined;
  const value: unknown = Reflect.get(fields, name);
  return typeof value === 'string' ? value : undefined;
}
