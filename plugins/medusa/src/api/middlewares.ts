import { isQuittance, providerIn, type Scope } from '../scope.ts';

interface Request {
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly rawBody?: Uint8Array | string;
  readonly scope: Scope;
}

interface Response {
  status(code: number): { json(body: object): unknown };
}

/**
 * Signature and age are checked when a message arrives, and answered: Medusa itself takes everything with 200 and looks
 * at it later, when it may have waited in a queue for longer than a message is fresh.
 */
async function onlyGenuine(request: Request, response: Response, next: (error?: unknown) => void): Promise<void> {
  try {
    const id = `pp_${request.params['provider'] ?? ''}`;
    const provider = isQuittance(id) ? await providerIn(request.scope, id) : undefined;
    await provider?.verified(request.rawBody ?? '', request.headers, { atItsOwnTime: false });
  } catch (error) {
    response.status(401).json({ error: error instanceof Error ? error.message : String(error) });
    return;
  }
  next();
}

// oxlint-disable-next-line import/no-default-export -- Medusa loads the default export.
export default {
  routes: [{ matcher: '/hooks/payment/:provider', methods: ['POST'], middlewares: [onlyGenuine] }],
};
