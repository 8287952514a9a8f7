within Modelica;
package Utilities "Texts, messages and files"
  package Types
    type Compare = enumeration(Less, Equal, Greater);
  end Types;

  package Streams
    function print
      input String string = "";
      input String fileName = "";
    external "C" ModelicaInternal_print(string, fileName);
    end print;

    function error
      input String string;
    external "C" ModelicaError(string);
    end error;
  end Streams;

  package Strings
    function length
      input String string;
      output Integer result;
    external "C" result = ModelicaStrings_length(string);
    end length;

    function substring
      input String string;
      input Integer startIndex(min = 1);
      input Integer endIndex;
      output String result;
    external "C" result = ModelicaStrings_substring(string, startIndex, endIndex);
    end substring;

    function compare
      input String string1;
      input String string2;
      input Boolean caseSensitive = true;
      output Types.Compare result;
    external "C" result = ModelicaStrings_compare(string1, string2, caseSensitive);
    end compare;

    function isEqual
      input String string1;
      input String string2;
      input Boolean caseSensitive = true;
      output Boolean identical;
    algorithm
      identical := compare(string1, string2, caseSensitive) == Types.Compare.Equal;
    end isEqual;

    function isEmpty
      input String string;
      output Boolean result;
    algorithm
      result := Advanced.skipWhiteSpace(string) > length(string);
    end isEmpty;

    function findLast
      input String string;
      input String searchString;
      input Integer startIndex = 0;
      input Boolean caseSensitive = true;
      output Integer index;
    protected
      Integer last = length(string) - length(searchString) + 1;
    algorithm
      index := if startIndex == 0 or startIndex > last then last else startIndex;
      while index >= 1 loop
        if isEqual(substring(string, index, index + length(searchString) - 1), searchString, caseSensitive) then
          return;
        end if;
        index := index - 1;
      end while;
      index := 0;
    end findLast;

    package Advanced
      function skipWhiteSpace
        input String string;
        input Integer startIndex = 1;
        output Integer nextIndex;
      external "C" nextIndex = ModelicaStrings_skipWhiteSpace(string, startIndex);
      end skipWhiteSpace;
    end Advanced;

    function repeat
      input Integer n(min = 0) = 1;
      input String string = " ";
      output String repeatedString;
    algorithm
      repeatedString := "";
      for k in 1:n loop
        repeatedString := repeatedString + string;
      end for;
    end repeat;
  end Strings;

  package Files
    function loadResource
      input String uri;
      output String fileReference;
    algorithm
      fileReference := fullPathName(uri);
    end loadResource;

    function fullPathName
      input String name;
      output String fullName;
    external "C" fullName = ModelicaInternal_fullPathName(name);
    end fullPathName;
  end Files;

  package Internal
    package PartialModelicaServices
      package Animation
        partial model PartialShape
          import Modelica.Mechanics.MultiBody.Frames;
          import Modelica.Mechanics.MultiBody.Types;
          import Modelica.Units.SI;
          parameter Types.ShapeType shapeType = "box";
          input Frames.Orientation R = Frames.nullRotation();
          input SI.Position r[3] = {0, 0, 0};
          input SI.Position r_shape[3] = {0, 0, 0};
          input Real lengthDirection[3](each final unit = "1") = {1, 0, 0};
          input Real widthDirection[3](each final unit = "1") = {0, 1, 0};
          input SI.Length length = 0;
          input SI.Length width = 0;
          input SI.Length height = 0;
          input Types.ShapeExtra extra = 0;
          input Real color[3] = {255, 0, 0};
          input Types.SpecularCoefficient specularCoefficient = 0.7;
        end PartialShape;

        partial model PartialVector
          import Modelica.Mechanics.MultiBody.Frames;
          import Modelica.Mechanics.MultiBody.Types;
          import Modelica.Units.SI;
          input Frames.Orientation R = Frames.nullRotation();
          input SI.Position r[3] = {0, 0, 0};
          input Real coordinates[3] = {0, 0, 0};
          input Types.RealColor color = {255, 0, 0};
          input Types.SpecularCoefficient specularCoefficient = 0.7;
          parameter Types.VectorQuantity quantity = Types.VectorQuantity.Force;
          input Boolean headAtOrigin = false;
          input Boolean twoHeadedArrow = false;
        end PartialVector;

        partial model PartialSurface
          import Modelica.Mechanics.MultiBody.Frames;
          import Modelica.Mechanics.MultiBody.Types;
          import Modelica.Units.SI;
          input Frames.Orientation R = Frames.nullRotation();
          input SI.Position r_0[3] = {0, 0, 0};
          parameter Integer nu = 2;
          parameter Integer nv = 2;
          replaceable function surfaceCharacteristic =
            Modelica.Mechanics.MultiBody.Interfaces.partialSurfaceCharacteristic;
          parameter Boolean wireframe = false;
          parameter Boolean multiColoredSurface = false;
          input Real color[3] = {255, 0, 0};
          input Types.SpecularCoefficient specularCoefficient = 0.7;
          input Real transparency = 0;
        end PartialSurface;
      end Animation;

      package ExternalReferences
        partial function PartialLoadResource
          input String uri;
          output String fileReference;
        end PartialLoadResource;
      end ExternalReferences;

      package System
        partial function exitBase
          input Integer status = 0;
        end exitBase;
      end System;
    end PartialModelicaServices;
  end Internal;
end Utilities;
