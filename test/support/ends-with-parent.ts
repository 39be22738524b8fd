/**
 * Environment of a service that ends when the process that started it does, as one that npx started: a test that is cut
 * off leaves none behind.
 */
export const ENDS_WITH_PARENT = { npm_command: 'exec' };
