import { refuse } from '../domain/values/result.ts';
import type { Answer } from './answer.ts';
import type { RequestHeaders } from './request-headers.ts';

const CONTENT_LENGTH = /^\d{1,15}$/;
const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

const refused = (
  code: 'invalid_request' | 'unsupported_media_type' | 'body_too_large',
  param: string,
  message: string,
): Answer => refuse(code, message, param);

/** The refusal that follows from the headers alone, before any byte of the body is read; null if there is none. */
export function refuseBeforeReading(method: string, headers: RequestHeaders, maxBodyBytes: number): Answer | null {
  const { contentLength, transferEncoding, contentEncoding, contentType, signatureVersion } = headers;
  if (signatureVersion !== undefined && signatureVersion !== '1' && signatureVersion !== '2')
    return refused('invalid_request', 'Signature-Version', 'Signature-Version must be 1 or 2, sent once.');
  if (contentLength === null || (contentLength !== undefined && !CONTENT_LENGTH.test(contentLength)))
    return refused('invalid_request', 'Content-Length', 'Content-Length must be one number.');
  if (contentLength !== undefined && Number(contentLength) > maxBodyBytes)
    return refused('body_too_large', 'body', `The body must be at most ${maxBodyBytes} bytes.`);
  const hasBody = transferEncoding !== undefined || (contentLength !== undefined && contentLength !== '0');
  if (hasBody && (method === 'GET' || method === 'HEAD'))
    return refused('invalid_request', 'body', 'A GET request must not have a body.');
  if (contentEncoding !== undefined)
    return refused('unsupported_media_type', 'Content-Encoding', 'Compressed bodies are not accepted.');
  if (contentType === undefined || contentType === 'application/json') return null;
  if (method === 'GET' || method === 'HEAD') return null;
  if (contentType === null || !JSON_TYPE.test(contentType))
    return refused('unsupported_media_type', 'Content-Type', 'Content-Type must be application/json in UTF-8.');
  return null;
}
