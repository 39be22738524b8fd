import express, { type RequestHandler } from 'express';

const MAX_FIELDS = 20;

/**
 * Reads a form of at most so many bytes. One that is too large or is none leaves an empty body: whoever sent it gets
 * the page, and no alarm is raised.
 */
export function readForm(maxBytes: number): RequestHandler {
  const parse = express.urlencoded({ extended: false, limit: maxBytes, parameterLimit: MAX_FIELDS });
  return (request, response, next) =>
    parse(request, response, (error?: unknown) => {
      if (error) {
        request.body = {};
        // What was not read of it is no next request.
        response.set('Connection', 'close');
      }
      next();
    });
}
