/**
 * What a thread learns of the environment: no setting and no secret, only where this process keeps compiled modules, if
 * it keeps any.
 */
export const threadEnvironment = (): NodeJS.Dict<string> => {
  const { NODE_COMPILE_CACHE } = process.env;
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
};
