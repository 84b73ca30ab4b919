/** The types of the API of the server at `url`, as TypeScript. */
export declare function typesOf(url: string): Promise<string>;
